"""One pattern (Schick and Schütze, arXiv:2001.07676 §3.1): all weights learn to say the right label's word in the blank."""

from __future__ import annotations

from dataclasses import dataclass

from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod


@dataclass(frozen=True, kw_only=True)
class PatternTraining(PromptMethod):
    """PET without its last step: nothing is distilled."""

    def run(self, job: PromptJob) -> str | None:
        return job.tune(job.prompted(), job.folder).outcome.stopped_by


METHOD = PatternTraining()
