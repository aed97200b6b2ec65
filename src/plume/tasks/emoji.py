"""Emoji prediction: which emoji its writer put to a text (SemEval-2018 task 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plume.tasks._example import Example
from plume.tasks._metrics import top_scores
from plume.tasks._task import Prediction
from plume.tasks.classification import Classification


@dataclass(frozen=True, kw_only=True)
class Emoji(Classification):
    """Many labels, of which several would do: the right one among the first five counts too."""

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        scores = np.array([[one["scores"][label] for label in self.labels] for one in predictions])
        return top_scores([self.labels.index(example.answer) if example.answer in self.labels else -1 for example in examples], scores)


TASK = Emoji(kind="emoji", title="the emoji that goes with a text", metric="top1")
