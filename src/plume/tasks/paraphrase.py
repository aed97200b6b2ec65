"""Paraphrase: do two texts say the same?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from plume.core.part import replace
from plume.readers.example import Example
from plume.tasks.classification import Classification

_NO = ("0", "no", "not_", "different", "false", "n")


@dataclass(frozen=True, kw_only=True)
class Paraphrase(Classification):
    """The F1 of the label that says yes is measured too, as MRPC's and QQP's results are given."""

    def learned(self, examples: Sequence[Example]) -> Self:
        task = super().learned(examples)
        yes = [label for label in task.labels if not label.lower().startswith(_NO)]
        return replace(task, positive=(yes or task.labels)[-1]) if len(task.labels) == 2 else task


TASK = Paraphrase(kind="paraphrase", title="paraphrase identification", metric="accuracy", texts=2)
