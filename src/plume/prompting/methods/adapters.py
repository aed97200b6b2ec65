"""Adapters (LoRA, arXiv:2106.09685): low-rank changes to frozen matrices learn to say the right label's word in the blank."""

from __future__ import annotations

from dataclasses import dataclass

from plume.nn.low_rank import LowRank
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.tuning.adapting.ways.adapters import LowRankAdapters


@dataclass(frozen=True, kw_only=True)
class PromptedAdapters(PromptMethod):
    """The body's own weights stay as they are."""

    adapters: LowRank = LowRank()

    def run(self, job: PromptJob) -> str | None:
        return job.tune(job.prompted(), job.folder, adaptation=LowRankAdapters(adapters=self.adapters)).outcome.stopped_by


METHOD = PromptedAdapters()
