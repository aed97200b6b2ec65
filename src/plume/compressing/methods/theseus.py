"""BERT-of-Theseus (arXiv:2002.02925): layers are replaced at random, module by module, by one each that learns in their place.

Successors begin as the first layers. Differs from the paper: the probability rises over the first half of the run, however long that is, where the
paper chooses a rate a step by hand (`replacement=Rising(rate=0.0006)`); depths need not divide; a step replaces at least one module, since without
any it would teach nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from plume.compressing.job import CompressionJob
from plume.compressing.method import Compression
from plume.compressing.recovering import SHRUNK, plan_after, resume_recovery
from plume.compressing.replacing.lesson import TheseusSettings
from plume.compressing.replacing.schedule import Replacement, Rising
from plume.compressing.shrinking.layered import fewer_layers
from plume.compressing.shrinking.tuned import network_of, require_network
from plume.core.errors import PlumeError
from plume.tuning.tune import begin_planned
from plume.tuning.tuned import TunedModel

_NEVER = 1_000  # measurements without a better one before the run ends: successors are measured alone, and are not yet alone


@dataclass(frozen=True, kw_only=True)
class Theseus(Compression):
    """`depth` modules, each in place of as many layers."""

    depth: int | None = None  # None: half of the layers
    replacement: Replacement = Rising()

    def run(self, job: CompressionJob) -> str | None:
        model = require_network(job.source, self.name)
        if not isinstance(model, TunedModel):
            raise PlumeError(f"{job.source} is not tuned for a task, in which successors could learn to replace its layers: tune it first.")
        job.need_data()
        successor = fewer_layers(model, range(self._modules(model)), name=self.name, quiet=True)
        assert isinstance(successor, TunedModel)
        successor.save(job.folder / SHRUNK)
        planned = plan_after(job, successor, TheseusSettings, predecessor=str(job.source), replacement=self.replacement, patience=_NEVER)
        job.save()
        return begin_planned(planned, job.folder, quiet=job.quiet).outcome.stopped_by

    def resume(self, job: CompressionJob) -> str | None:
        return resume_recovery(job)

    def _modules(self, model: TunedModel) -> int:
        whole = network_of(model)
        depth = whole.recipe.transformer.depth
        if whole.recipe.transformer.between:
            raise PlumeError(f"{whole.recipe.name} has modules between its layers, which belong to no module that could be replaced.")
        if model.model.frozen:
            raise PlumeError(
                f"{whole.recipe.name} is frozen below its task (--mode {model.model.adaptation.mode}): none of its layers learns."
            )
        if depth == 1:
            raise PlumeError(f"{whole.recipe.name} has one layer here: no fewer can stand in its place.")
        kept = max(1, depth // 2) if self.depth is None else self.depth
        if not 1 <= kept < depth:
            raise PlumeError(f"Of {depth} layers at least one and at most {depth - 1} can be left, not {kept}.")
        return kept


METHOD = Theseus()
