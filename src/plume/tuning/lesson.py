"""Lesson: what a run of tuning learns from. By default the examples' answers; a teacher gives another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.data.loader import Mixture
from plume.model.trainable import Trainable
from plume.train.loop import TrainingPlan
from plume.tuning.preparing import PreparedTask
from plume.tuning.rows.questions import QuestionReader, Questions
from plume.tuning.tuned import TunedModel


@dataclass(frozen=True, kw_only=True)
class Pupil:
    """The model that learns, its tasks with their examples, and what these ask of it."""

    tuned: TunedModel
    prepared: Sequence[PreparedTask]
    asked: Sequence[Questions]
    folder: Path


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What is trained, on which batches, and what each loss weighs. Of `model` only what belongs to the pupil is published."""

    model: Trainable
    mixture: Mixture[QuestionReader]
    plan: TrainingPlan
    notes: Sequence[str] = ()
    some_unused: bool = False  # may a step leave out some parameters that learn?
