"""What a student is fed: labelled rows, unlabelled text and altered copies, with the teacher's answers beside them or in their place."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from plume.compressing.distilling.augmenting.augmentation import Augmentation
from plume.compressing.distilling.hard_labels import hard_labels
from plume.compressing.distilling.network import LABELLED, SAID
from plume.compressing.distilling.soft_labels import soft_labels
from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.data.loader import Cursor
from plume.readers.example import Example, Reading
from plume.tuning.preparing import PreparedTask
from plume.tuning.rows.questions import Floats, QuestionReader, Questions
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.written import TextQuestions, WrittenTask


class Labelling(enum.StrEnum):
    """Whose answers are learned as answers, beside what comparisons say."""

    PEOPLE = "people"
    UNLABELLED = "unlabelled"  # the teacher's decisions where people gave none
    TEACHER = "teacher"  # the teacher's decisions everywhere (Kim & Rush, arXiv:1606.07947: sequence-level distillation)


@dataclass(frozen=True, kw_only=True)
class Feed:
    """Of one task: its teachers, what is fed beside its labelled rows, and what of the teachers' answers is wanted."""

    teachers: tuple[Path, ...]
    text: tuple[str, ...] = ()
    augmentation: tuple[Augmentation, ...] = ()
    labelling: Labelling = Labelling.PEOPLE
    scores: bool = True  # are the teachers' scores learned?
    seed: int = 0
    device: str = "cpu"

    def rows(self, one: PreparedTask, asked: Questions, tuned: TunedModel) -> list[FedRows]:
        """The labelled ones first. `tuned` is the student."""
        labelled, examples = asked, list(one.train)
        if self.labelling is Labelling.TEACHER:
            examples = hard_labels(self.teachers, one.task, examples, tuned.coder(), device=self.device)
            labelled = one.task.questions(examples, tuned.coder())[0]
        fed = [FedRows(questions=labelled, said=self._said(one.task, examples, labelled), labelled=True)]
        if more := self.unlabelled(one):
            learned = self.labelling is not Labelling.PEOPLE
            if learned or isinstance(one.task, WrittenTask):  # which is written after what stands before: somebody has to
                more = hard_labels(self.teachers, one.task, more, tuned.coder(), device=self.device)
            questions = one.task.questions(more, tuned.coder())[0]
            fed.append(FedRows(questions=questions, said=self._said(one.task, more, questions), labelled=learned))
        return fed

    def unlabelled(self, one: PreparedTask) -> list[Example]:
        """Rows of plain text, and altered copies of all rows."""
        found = [example for path in self.text for example in read_plain(one.task, path)]
        rows = [*one.train, *found]
        for number, part in enumerate(self.augmentation):
            found += part.altered(rows, seed=self.seed + number, teacher=self.teachers[0])
        return found

    def _said(self, task: Task, examples: Sequence[Example], asked: Questions) -> Floats | None:
        """The teachers' scores; of texts that are written there would be a vocabulary for each token: these are asked anew."""
        if isinstance(asked, TextQuestions) or not self.scores:
            return None
        return soft_labels(self.teachers, task, examples, asked, device=self.device)


@dataclass(frozen=True, kw_only=True)
class FedRows:
    """Questions with what the teachers say to them, where that is kept; and whether their answers are learned."""

    questions: Questions
    said: Floats | None
    labelled: bool


@dataclass(kw_only=True)
class TaughtReader(QuestionReader):
    """Batches that bring the teacher's scores along, where they were kept."""

    said: Floats | None
    labelled: bool

    def step(self, cursor: Cursor, shares: Sequence[slice]) -> tuple[Batch, ...]:
        asked, batches = self.plan(cursor.epoch)
        index = batches[cursor.step]
        return tuple(self._taught(self.finish(asked.batch(index[share]), asked), index[share]) for share in shares)

    def _taught(self, batch: Batch, index: np.ndarray) -> Batch:
        told = {} if self.said is None else {SAID: self.questions.said(self.said, index)}
        return replace(batch, named={**batch.named, LABELLED: np.array([self.labelled]), **told})


def read_plain(task: Task, path: str) -> list[Example]:
    """A file without answers, as the task reads it."""
    reading = Reading(file=Path(path))
    found = list(task.read([Path(path)], reading, labelled=False))
    if not found:
        raise PlumeError(f"{path} has no usable row of text: {' '.join(reading.lines()[1:]) or 'it is empty.'}")
    return [replace(example, answer=None) for example in found]
