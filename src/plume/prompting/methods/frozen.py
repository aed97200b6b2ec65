"""Frozen features: a control without a prompt; a linear layer learns on the mean of the states of the model as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from plume.prompting.job import PromptJob
from plume.prompting.method import PromptMethod
from plume.tuning.adapting.ways.probe import LinearProbe


@dataclass(frozen=True, kw_only=True)
class FrozenControl(PromptMethod):
    """What `plume tune --mode probe` does."""

    prompted: ClassVar[bool] = False

    def run(self, job: PromptJob) -> str | None:
        return job.tune(job.prepared.task, job.folder, adaptation=LinearProbe()).outcome.stopped_by


METHOD = FrozenControl()
