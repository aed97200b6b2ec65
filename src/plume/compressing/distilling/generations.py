"""Born again: students of their teacher's own architecture, each the teacher of the next (arXiv:1805.04770 §3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from plume.compressing.distilling.comparisons import DistilLoss, Gold, Logits
from plume.compressing.distilling.method import Distillation, ended
from plume.compressing.job import CompressionJob
from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.core.part import part_from_json, replace
from plume.train.settings import RUN
from plume.tuning.settings import TuneSettings
from plume.tuning.tune import resume as resume_tuning

BORN = Path("train") / "generations"  # those before the last, a folder each
_ENDED = Path("train") / "ended.json"  # is there when one of them has learned enough to teach


@dataclass(frozen=True, kw_only=True)
class BornAgain(Distillation):
    """`generations` students one after the other; the last is what is made."""

    several: ClassVar[bool] = False

    variant: str = "born-again"
    comparisons: tuple[DistilLoss, ...] = (Gold(weight=0.5), Logits(weight=0.5))
    generations: int = 1

    def __post_init__(self) -> None:
        if self.generations < 1:
            raise PlumeError(f"There is at least one generation, not {self.generations}.")

    def likeness(self, source: Path, folder: Path) -> Path:
        return source

    def run(self, job: CompressionJob) -> str | None:
        self.refuse_misfits(job)
        return self._all(job, lambda one: self.learn(one, self.student_of(job)))

    def resume(self, job: CompressionJob) -> str | None:
        def go_on(one: CompressionJob) -> str | None:
            if (one.folder / RUN).exists():
                return ended(resume_tuning(one.folder, quiet=one.quiet))
            return self.learn(one, self.student_of(job))

        return self._all(job, go_on)

    def _all(self, job: CompressionJob, work: Callable[[CompressionJob], str | None]) -> str | None:
        job.save()
        teacher = job.settings.sources
        for number in range(1, self.generations):
            folder = job.folder / BORN / str(number)
            if not (folder / _ENDED).exists():
                one = CompressionJob(settings=replace(job.settings, sources=teacher), folder=folder, quiet=job.quiet)
                stopped_by = work(one)
                if stopped_by is not None:
                    return stopped_by
                write_json(folder / _ENDED, True)
            teacher = (str(folder.absolute()),)
        return work(CompressionJob(settings=replace(job.settings, sources=teacher), folder=job.folder, quiet=job.quiet))

    def student_of(self, job: CompressionJob) -> Path:
        """What the first teacher was tuned from; what the user names; or the architecture with first weights."""
        if self.student is not None or self.start is not None or self.depth is not None:
            return super().student_of(job)
        path = job.source / RUN
        settings = part_from_json(read_json(path, "it should hold the run's settings")) if path.exists() else None
        if isinstance(settings, TuneSettings) and Path(settings.model).is_dir():
            return Path(settings.model)
        raise PlumeError(
            f"{job.source} does not say what it was tuned from, or that is gone: name the same pre-trained model with --student DIRECTORY."
        )
