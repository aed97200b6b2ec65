"""Soft prompts (Lester et al., arXiv:2104.08691): tokens in front of the text learn, and nothing else; the label's word stays in the blank."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.prompting.soft import frequent_tokens, soft_task, soft_way
from plume.tuning.adapting.soft import SoftPrompting


class SoftStart(enum.StrEnum):
    """What the vectors are before training: those of the label words and the examples' frequent tokens, or random ones (§3.2)."""

    WORDS = "words"
    RANDOM = "random"


@dataclass(frozen=True, kw_only=True)
class PromptTuning(PromptMethod):
    """The model is frozen. `tokens`: where nothing is said as many as the template has, or 20."""

    tokens: int | None = None
    start: SoftStart = SoftStart.WORDS

    def run(self, job: PromptJob) -> str | None:
        task = soft_task(job, self.tokens, usual=20, around=False)
        start = frequent_tokens(job, task.prompt.soft) if self.start is SoftStart.WORDS else ()
        return job.tune(task, job.folder, adaptation=soft_way(SoftPrompting(), task, start)).outcome.stopped_by


METHOD = PromptTuning()
