"""Which heads matter for a task: gradient importance (Michel et al. 2019, arXiv:1905.10650 §4.1), and the loss without each head."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.files import write_json, write_text
from plume.metrics.scores import number_scores
from plume.readers.example import Example, Reading
from plume.train.device import to_device
from plume.tuning.rows.questions import Questions, inference_batches
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel
from plume.view.recording.gating import AttentionPlace, Gates, gated, gated_places, heads_of, without
from plume.view.recording.subject import Subject

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PlaceImportance:
    """One place's heads: a layer's list each, since pruned layers have fewer."""

    place: AttentionPlace
    gradient: list[Floats]  # E|dL/dξ| as it is
    normalised: list[Floats]  # divided by the layer's length (its l2 norm)
    without: list[Floats]  # the loss with that head switched off; empty: not measured


@dataclass(frozen=True, kw_only=True)
class HeadImportance:
    """What `plume compress` can prune by; saved as JSON and CSV."""

    model: str
    task: str
    examples: int
    loss: float  # of an example, with all heads
    places: list[PlaceImportance]

    @property
    def correlation(self) -> float | None:
        """Spearman's, of the importance as it is with how much the loss changes, up or down; None: not measured, or nothing varies."""
        pairs = [(one.gradient, one.without) for one in self.places if one.without]
        if not pairs:
            return None
        gradient = np.concatenate([np.concatenate(one) for one, _ in pairs])
        change = np.abs(np.concatenate([np.concatenate(other) for _, other in pairs]) - self.loss)
        found = number_scores(change.tolist(), gradient.tolist())["spearman"]
        return found if np.isfinite(found) else None

    def rows(self) -> Iterator[dict[str, Any]]:
        """A head each; layers and heads are counted from 0, as in the recipe's `pruned`."""
        for one in self.places:
            for layer, gradient in enumerate(one.gradient):
                for head in range(len(gradient)):
                    yield {
                        "place": one.place.value, "layer": layer, "head": head, "importance": float(gradient[head]),
                        "normalised": float(one.normalised[layer][head]),
                        "loss_without": float(one.without[layer][head]) if one.without else None,
                    }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """With all that is known."""
        known = {"model": self.model, "task": self.task, "examples": self.examples, "loss": self.loss, "correlation": self.correlation}
        return known | {"heads": list(self.rows())}

    def write(self, path: Path) -> None:
        """As .csv, else as JSON."""
        if path.suffix.lower() != ".csv":
            write_json(path, self.to_json())
            return
        rows = list(self.rows())
        written = io.StringIO()
        table = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        write_text(path, written.getvalue())


class TaskHeads:
    """A tuned model on a labelled file."""

    def __init__(self, subject: Subject, file: str | Path, *, task: str | None = None, examples: int = 256) -> None:
        self.subject, self.model, self.task = subject, *_tuned(subject, task)
        self.examples = self._read(Path(file), examples)
        self.questions, _ = self.task.questions(self.examples, self.model.coder())

    def _read(self, file: Path, most: int) -> list[Example]:
        reading = Reading(file=file)
        found = list(self.task.read([file], reading, labelled=True))
        if not found:
            raise PlumeError(f"{file} has no usable example. {' '.join(reading.lines()[1:])}")
        self.task.check(found, file)
        if len(found) <= most:
            return found
        return [found[round(place)] for place in np.linspace(0, len(found) - 1, most)]  # of the whole file

    def importance(self, *, without_each: bool = True) -> HeadImportance:
        """By gradients, and with `without_each` also by switching every head off."""
        places = gated_places(self.subject)
        sums = self._gradients()
        count = len(self.questions)
        found = []
        for place, stack in places.items():
            gradient = [(one / count).double().cpu().numpy() for one in sums[place]]
            losses: list[Floats] = []
            for layer, heads in enumerate(heads_of(stack, place) if without_each else ()):
                losses.append(np.array([self.loss(without(self.subject, place, layer, head)) for head in range(heads)]))
            normalised = [one / max(float(np.linalg.norm(one)), 1e-30) for one in gradient]
            found.append(PlaceImportance(place=place, gradient=gradient, normalised=normalised, without=losses))
        return HeadImportance(model=self.subject.name, task=self.task.called, examples=count, loss=self.loss(), places=found)

    @torch.inference_mode()
    def loss(self, gates: Gates | None = None) -> float:
        """Of an example, in the mean."""
        with gated(self.subject, gates or {}):
            return sum(float(self._loss(batch)) for batch, _ in self._batches()) / len(self.questions)

    def _gradients(self) -> dict[AttentionPlace, list[Tensor]]:
        """Of each head the sum of |dL(x)/dξ| over examples. A gate for each row: one backward pass gives those of all its examples."""
        places = gated_places(self.subject)
        sums = {place: [torch.zeros(heads) for heads in heads_of(stack, place)] for place, stack in places.items()}
        frozen, self.model.model.frozen = self.model.model.frozen, False  # gates lie in the body, also where it did not learn
        try:
            for batch, sizes in self._batches():
                rows = len(batch.tokens)
                gates = {
                    place: [torch.ones(rows, len(one), device=self.model.device, requires_grad=True) for one in sums[place]]
                    for place in places
                }
                with torch.enable_grad(), gated(self.subject, gates):
                    loss = self._loss(batch)
                flat = [gate for place in places for gate in gates[place]]
                slopes = iter(torch.autograd.grad(loss, flat, allow_unused=True))
                for place in places:
                    for layer, gate in enumerate(gates[place]):
                        slope = next(slopes)
                        grouped = torch.zeros_like(gate) if slope is None else slope
                        parts = torch.split(grouped, sizes)
                        sums[place][layer] += torch.stack([one.sum(0).abs() for one in parts]).sum(0).cpu()
        finally:
            self.model.model.frozen = frozen
        return sums

    def _batches(self) -> Iterator[tuple[Batch, list[int]]]:
        """With how many rows each example has."""
        for index in inference_batches(self.questions):
            batch = to_device(self.model.finish(self.questions.batch(index), self.questions), self.model.device)
            yield batch, _sizes(self.questions, index)

    def _loss(self, batch: Batch) -> Tensor:
        (loss,) = self.model.model.losses(batch).values()
        return loss.total


def _sizes(questions: Questions, index: NDArray[np.int64]) -> list[int]:
    return [int(one) for one in np.diff(questions.groups)[index]]


def _tuned(subject: Subject, task: str | None) -> tuple[TunedModel, Task]:
    if subject.tuned is None:
        raise PlumeError(
            f"{subject.name} is not fine-tuned: which heads matter is measured by a task's loss. Fine-tune it first: plume tune … --task …"
        )
    return subject.tuned, subject.tuned.task(task)


def ranked(importance: HeadImportance) -> Sequence[dict[str, Any]]:
    """All heads, the most important first."""
    return sorted(importance.rows(), key=lambda row: -row["importance"])
