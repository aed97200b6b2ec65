"""A task answered in another way than by a head of its own: it still reads, checks and measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.part import replace
from plume.metrics.resampled.measures import Measures
from plume.readers.example import Example, Reading
from plume.tuning.task import Columns, Prediction, Readable, Task


@dataclass(frozen=True, kw_only=True)
class WrappedTask(Task):
    """`task` is the one below."""

    task: Task

    @classmethod
    def of(cls, task: Task, **own: Any) -> Self:
        """That task; `own` is what this way of answering has beside."""
        return cls(task=task, kind=task.kind, title=task.title, metric=task.metric, name=task.name, labels=task.labels, **own)

    def _with(self, task: Task) -> Self:
        return replace(self, task=task, labels=task.labels)

    def fitted(self, paths: Sequence[Path], columns: Columns) -> Self:
        return self._with(self.task.fitted(paths, columns))

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        return self.task.read(paths, reading, labelled=labelled)

    def learned(self, examples: Sequence[Example]) -> Self:
        return self._with(self.task.learned(examples))

    def check(self, examples: Sequence[Example], file: Path) -> None:
        self.task.check(examples, file)

    def example(self, item: Any) -> Example:
        return self.task.example(item)

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        return self.task.measure(examples, predictions)

    def balance(self, examples: Sequence[Example]) -> str | None:
        return self.task.balance(examples)

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        return self.task.row_measures(examples, predictions)

    @property
    def graded(self) -> bool:
        return self.task.graded

    def grades(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> NDArray[np.float64]:
        return self.task.grades(examples, predictions)

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        return self.task.readable(example, given)
