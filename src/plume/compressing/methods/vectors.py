"""Sentence vectors (arXiv:2004.09813): the student gives the teacher's vector of a text, learned by squared distance or cosine.

Any plain text teaches. A narrower student learns the teacher's vectors cut by PCA of the texts, so that its own are smaller; with
--set dense=true a dense layer brings them to the teacher's dimensions. --dev is a file of scored pairs, which chooses among weights by Spearman.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from plume.compressing.distilling.sentence_vectors import Distance, plan_vectors, refuse_teacher
from plume.compressing.distilling.students import student_for
from plume.compressing.job import CompressionJob
from plume.compressing.method import Compression
from plume.core.errors import PlumeError
from plume.model.checkpoint import read_recipe
from plume.sentences import training
from plume.train.device import choose_device
from plume.train.distributed import Processes


@dataclass(frozen=True, kw_only=True)
class VectorDistillation(Compression):
    """The student as in other distillations: the teacher with fewer layers, a recipe over its tokenizer, or a model directory of any vocabulary."""

    by_pairs: ClassVar[bool] = True

    student: str | None = None
    depth: int | None = None
    start: str | None = None
    distance: Distance = Distance.SQUARED
    dense: bool | None = None  # a learned layer to the teacher's dimensions; None: where the student has more of them

    def reads_text(self, *, tuned: bool) -> bool:
        return True

    def as_control(self) -> Self:
        raise PlumeError("Without a teacher there are no vectors to learn: leave out --control, and compare with 'plume sentences train'.")

    def run(self, job: CompressionJob) -> str | None:
        refuse_teacher(job)
        Processes(choose_device()).wait()  # none of them writes before all have seen that the folder is free
        student = student_for(job, student=self.student, depth=self.depth, start=self.start)
        given = self.student is not None and Path(self.student).is_dir()
        rate = None if given or self.student is None else read_recipe(student).training.peak  # what knows nothing is pre-trained
        planned = plan_vectors(job, student, distance=self.distance, dense=self.dense, made_here=not given, rate=rate)
        job.save()
        return training.run(planned, job.folder, quiet=job.quiet).outcome.stopped_by

    def resume(self, job: CompressionJob) -> str | None:
        return training.resume(job.folder, quiet=job.quiet).outcome.stopped_by


METHOD = VectorDistillation()
