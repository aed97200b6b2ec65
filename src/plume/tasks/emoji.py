"""Emoji prediction: which emoji its writer put to a text (SemEval-2018 task 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.metrics.resampled.labels import top_rows
from plume.metrics.resampled.measures import Measures
from plume.metrics.scores import top_scores
from plume.readers.example import Example
from plume.tasks.classification import Classification
from plume.tuning.task import Prediction


@dataclass(frozen=True, kw_only=True)
class Emoji(Classification):
    """Many labels, of which several would do: the right one among the first five counts too."""

    right_by: ClassVar[str | None] = "top1"

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        return top_scores(*self._scored(examples, predictions))

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        return top_rows(*self._scored(examples, predictions))

    def _scored(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> tuple[list[int], NDArray[np.float64]]:
        """The right labels' numbers, and the scores of all."""
        labels = [*self.labels, *sorted({example.answer for example in examples} - set(self.labels))]
        scores = np.array([[one["scores"].get(label, -1.0) for label in labels] for one in predictions])
        return [labels.index(example.answer) for example in examples], scores


TASK = Emoji(kind="emoji", title="emoji prediction", metric="top1")
