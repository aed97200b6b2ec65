"""Is the file the model? Both read the same texts, in batches of several sizes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.exporting.formats import Run
from plume.model.use.runtimes._graph import Graph
from plume.readers.example import Example
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel

LARGEST = 1e-3  # difference in float32
ENOUGH = 0.99  # of the answers of an 8-bit file


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the check has found."""

    texts: int
    difference: float  # the largest, of logits or of vectors
    agreement: float  # share of the answers that are the same
    torch: float  # texts a second
    file: float

    def lines(self) -> list[str]:
        """In words."""
        return [
            f"checked on {self.texts} texts: largest difference {self.difference:.1e}, {self.agreement:.1%} of the answers the same",
            f"torch {self.torch:.0f} texts/s, the file {self.file:.0f} texts/s ({self.file / self.torch:.1f} times)",
        ]

    def require(self, *, int8: bool) -> None:
        """Raise unless a file in full precision gives the same answers."""
        if not int8 and not (self.difference <= LARGEST and self.agreement == 1):
            raise PlumeError(
                f"The file does not compute what the model does: the largest difference is {self.difference:.1e} (rounding: {LARGEST:.0e}), "
                f"{self.agreement:.1%} of the answers are the same. Nothing was written."
            )


class FileBesideTorch:
    """Runs the file in the model's place, and the model beside it. It is a `Runner`."""

    def __init__(self, graph: Graph, run: Run) -> None:
        self.graph, self.run = graph, run
        self.difference, self.seconds = 0.0, [0.0, 0.0]
        self.same, self.asked = 0, 0  # predicted tokens, where the outputs are those of a language model

    @torch.inference_mode()
    def outputs(self, batch: Batch) -> list[Tensor]:
        """The file's."""
        given = self.graph.given(batch)
        begun = time.perf_counter()
        expected = self.graph(*given)
        between = time.perf_counter()
        found = self.run(given)
        self.seconds[0] += between - begun
        self.seconds[1] += time.perf_counter() - between
        inside = given[1].bool()
        for name, one, right in zip(self.graph.outputs, found, expected, strict=True):
            places = inside if one.ndim == 3 else torch.ones(len(one), dtype=torch.bool)
            self.difference = max(self.difference, (one[places] - right[places]).abs().max().item())
            if name == "logits":
                self.same += int((one[places].argmax(-1) == right[places].argmax(-1)).sum())
                self.asked += int(places.sum())
        return found

    def __call__(self, batch: Batch) -> Tensor:
        """The logits of a task."""
        return self.outputs(batch)[0]


def check_task(tuned: TunedModel, task: Task, examples: Sequence[Example], compared: FileBesideTorch) -> Checked:
    """The answers of torch and of the file, to all examples together and to some alone."""
    file = tuned.using(compared)
    expected = tuned.answers(task, examples)[0]
    found = file.answers(task, examples)[0]
    alone = range(0, len(examples), max(1, len(examples) // 4))
    pairs = [*zip(found, expected, strict=True), *((file.answers(task, [examples[one]])[0][0], expected[one]) for one in alone)]
    return _checked(compared, len(pairs), sum(_alike(one, right) for one, right in pairs) / len(pairs))


def check_language(batches: Sequence[Batch], compared: FileBesideTorch) -> Checked:
    """All outputs; the answers are the likeliest tokens."""
    for batch in batches:
        compared.outputs(batch)
    texts = sum(len(batch.tokens) for batch in batches)
    return _checked(compared, texts, compared.same / compared.asked if compared.asked else 1.0)


def _checked(compared: FileBesideTorch, texts: int, agreement: float) -> Checked:
    speed = [texts / max(seconds, 1e-9) for seconds in compared.seconds]
    return Checked(texts=texts, difference=compared.difference, agreement=agreement, torch=speed[0], file=speed[1])


def _alike(one: Any, other: Any) -> bool:
    """The same answer: labels, places and texts are equal; how sure it is may differ a little, and so may a number that is the whole answer."""
    if isinstance(one, dict) and set(one) == {"score"}:
        return abs(one["score"] - other["score"]) <= 1e-2 * max(1.0, abs(other["score"]))
    if isinstance(one, dict):
        return bool(one.keys() == other.keys()) and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return isinstance(one, float) or bool(one == other)
