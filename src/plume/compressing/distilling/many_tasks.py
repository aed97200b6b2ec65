"""Several models, each tuned for a task of its own, into one student that has them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from plume.compressing.distilling.method import Distillation
from plume.compressing.job import CompressionJob
from plume.core.errors import PlumeError


@dataclass(frozen=True, kw_only=True)
class ManyTasks(Distillation):
    """Models are given in the order of the tasks; a student that is made takes after the first."""

    by_task: ClassVar[bool] = True

    def refuse_misfits(self, job: CompressionJob) -> None:
        super().refuse_misfits(job)
        if len(job.sources) < 2:
            raise PlumeError(f"{self.name} makes one model of several, each tuned for a task of its own: name two or more.")
        if job.settings.text:
            raise PlumeError(f"{self.name} has a teacher for each task, and a text does not say whose it is: leave out --text.")
