"""Soft labels: texts with the scores that others gave them, and a run that learns from these alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plume.compressing.distilling.comparisons import Logits
from plume.compressing.distilling.feeding import TaughtReader
from plume.compressing.distilling.network import DistilledModel
from plume.core.files import make_folder, write_text
from plume.data.loader import Mixture
from plume.readers.example import Example
from plume.train.loop import TrainingPlan
from plume.tuning.lesson import Lesson, Pupil
from plume.tuning.rows.questions import Floats, QuestionReader
from plume.tuning.settings import TuneSettings
from plume.tuning.tune import rows_of_a_batch


def write_soft_labels(path: Path, examples: Sequence[Example], scores: Floats) -> None:
    """A JSON line each: the texts, and what each label scores, before any softmax: at a temperature small shares count."""
    make_folder(path.parent)
    lines = (
        json.dumps({"texts": list(one.texts), "scores": row}, ensure_ascii=False)
        for one, row in zip(examples, scores.tolist(), strict=True)
    )
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_soft_labels(path: Path) -> tuple[list[Example], Floats]:
    """What was written."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Example(texts=tuple(row["texts"])) for row in rows], np.array([row["scores"] for row in rows], np.float32)


@dataclass(frozen=True, kw_only=True)
class SoftLabelSettings(TuneSettings):
    """A run of tuning whose answers are others' scores; its training examples only say what the task is."""

    soft: str  # the file
    temperature: float = 1.0

    @property
    def files(self) -> tuple[str, ...]:
        return (*super().files, self.soft)

    def lesson(self, pupil: Pupil) -> Lesson:
        (one,), tuned = pupil.prepared, pupil.tuned
        examples, said = read_soft_labels(Path(self.soft))
        questions, _ = one.task.questions(examples, tuned.coder())
        reader = TaughtReader(
            questions=questions, rows=rows_of_a_batch(questions, self), seed=self.seed, finish=tuned.finish, said=said, labelled=False
        )  # fmt: skip
        model = DistilledModel(tuned.model, {}, (Logits(temperature=self.temperature),), seed=self.seed)
        return Lesson(
            model=model,
            mixture=Mixture[QuestionReader](readers=(reader,), shares=(1.0,), seed=self.seed),
            plan=TrainingPlan(training=self.training, weights=[{}], during=[(0.0, 1.0)]),
            notes=[f"{one.task.called}: learned from {len(examples):,} texts with soft labels, and from no others"],
        )
