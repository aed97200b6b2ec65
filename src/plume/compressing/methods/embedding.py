"""Embedding (ALBERT §3.1, arXiv:1909.11942): token vectors become a narrow table times one matrix, by SVD; tied output weights with them."""

from __future__ import annotations

from dataclasses import dataclass

from plume.compressing.job import CompressionJob
from plume.compressing.shrinking.embedding import with_narrow_table
from plume.compressing.shrinking.method import Shrinking
from plume.compressing.shrinking.tuned import network_of
from plume.compressing.shrinking.used_tokens import count_needed
from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.model.use.language_model import LanguageModel
from plume.text.fewer_tokens import Ids
from plume.tuning.tuned import TunedModel


@dataclass(frozen=True, kw_only=True)
class NarrowTable(Shrinking):
    """`width` of the table."""

    width: int = 128
    weighted: bool = True  # is a vector the more exact the more often its token occurs in --text and in what the model was tuned on?

    def reads_text(self, *, tuned: bool) -> bool:
        return True

    def body(self, job: CompressionJob, model: TunedModel | LanguageModel) -> Model:
        whole = network_of(model)
        made = with_narrow_table(whole, self.width, self._counts(job, model, whole))
        before, after = (sum(value.numel() for value in one.embedding.token.parameters()) for one in (whole, made))
        if after >= before:
            raise PlumeError(
                f"With width={self.width} the token vectors would have {after:,} weights, and they have {before:,} now: choose less."
            )
        return made

    def _counts(self, job: CompressionJob, model: TunedModel | LanguageModel, whole: Model) -> Ids | None:
        if not self.weighted or not (job.settings.text or job.settings.data):
            return None
        counts = count_needed(job, model)
        counts.resize(whole.vocabulary, refcheck=False)  # a table may have more rows than there are tokens
        return counts


METHOD = NarrowTable()
