"""Shrinking: a compression that takes something out of one network, whose heads stay as they are."""

from __future__ import annotations

from dataclasses import dataclass

from plume.compressing.job import CompressionJob
from plume.compressing.method import Compression
from plume.compressing.recovering import finish_shrunk, resume_recovery
from plume.compressing.shrinking.tuned import require_network, with_body
from plume.model.networks.model import Model
from plume.model.use.language_model import LanguageModel
from plume.tuning.tuned import TunedModel


@dataclass(frozen=True, kw_only=True)
class Shrinking(Compression):
    """Base: a method says what a smaller network is made of (`body`), or, where more than that changes, the whole smaller model (`smaller`)."""

    recover: bool | None = None  # does it learn its task again afterwards? None: where labelled rows are known

    @property
    def trains(self) -> bool:
        return self.recover is not False

    def learns(self, *, labelled: bool) -> bool:
        return self.trains and labelled

    def run(self, job: CompressionJob) -> str | None:
        model = require_network(job.source, self.name)
        return finish_shrunk(job, self.smaller(job, model), recover=self.recover)

    def resume(self, job: CompressionJob) -> str | None:
        return resume_recovery(job)

    def smaller(self, job: CompressionJob, model: TunedModel | LanguageModel) -> TunedModel | LanguageModel:
        """The model with a smaller network."""
        if isinstance(model, LanguageModel):
            return LanguageModel(self.body(job, model), model.tokenizer, model.sentence)
        return with_body(model, self.body(job, model))

    def body(self, job: CompressionJob, model: TunedModel | LanguageModel) -> Model:
        """The smaller network; `network_of(model)` is the one to shrink, with its weights."""
        raise NotImplementedError
