"""Prefixes (arXiv:2101.00190; P-tuning v2, arXiv:2110.07602): keys and values in front of every layer's learn, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from plume.nn.prefix import Prefix
from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.tuning.adapting.ways.prefix import PrefixTuning


@dataclass(frozen=True, kw_only=True)
class PrefixedPrompt(PromptMethod):
    """The label's word in the blank, or with `head=true` an ordinary head, as P-tuning v2 has it. `hidden`: the width of a network that computes the
    prefix; 0: it is learned itself."""

    tokens: int = 20
    hidden: int = 0
    head: bool = False

    def run(self, job: PromptJob) -> str | None:
        task = job.prepared.task if self.head else job.prompted()
        adaptation = PrefixTuning(prefix=Prefix(length=self.tokens, hidden=self.hidden))
        return job.tune(task, job.folder, adaptation=adaptation).outcome.stopped_by


METHOD = PrefixedPrompt()
