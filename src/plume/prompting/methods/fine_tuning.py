"""Fine-tuning (Devlin et al., arXiv:1810.04805 §3.2): a control without a prompt; a new head and all weights learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod


@dataclass(frozen=True, kw_only=True)
class FineTuning(PromptMethod):
    """What `plume tune` does."""

    prompted: ClassVar[bool] = False

    def run(self, job: PromptJob) -> str | None:
        return job.tune(job.prepared.task, job.folder).outcome.stopped_by


METHOD = FineTuning()
