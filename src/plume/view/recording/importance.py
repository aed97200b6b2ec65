"""Which heads matter for a task: gradient importance (Michel et al. 2019, arXiv:1905.10650 §4.1), and the loss without each head."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import write_json, write_text
from plume.metrics.scores import number_scores
from plume.model.gating import AttentionPlace, gated_places, heads_of, without
from plume.readers.example import Example, Reading
from plume.tuning.task import Task
from plume.tuning.task_loss import TaskLoss
from plume.tuning.tuned import TunedModel
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
        self.subject = subject
        model, self.task = _tuned(subject, task)
        self.examples = self._read(Path(file), examples)
        self.asked = TaskLoss(model, self.task, self.examples)

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
        network, loss = self.subject.network, self.asked.mean
        sums = self.asked.importance()
        found = []
        for place, stack in gated_places(network).items():
            gradient = [one.numpy() for one in sums[place]]
            losses: list[Floats] = []
            for layer, heads in enumerate(heads_of(stack, place) if without_each else ()):
                losses.append(np.array([loss(without(network, place, layer, head)) for head in range(heads)]))
            normalised = [one / max(float(np.linalg.norm(one)), 1e-30) for one in gradient]
            found.append(PlaceImportance(place=place, gradient=gradient, normalised=normalised, without=losses))
        count = len(self.asked.questions)
        return HeadImportance(model=self.subject.name, task=self.task.called, examples=count, loss=loss(), places=found)


def _tuned(subject: Subject, task: str | None) -> tuple[TunedModel, Task]:
    if subject.tuned is None:
        raise PlumeError(
            f"{subject.name} is not fine-tuned: which heads matter is measured by a task's loss. Fine-tune it first: plume tune … --task …"
        )
    return subject.tuned, subject.tuned.task(task)


def ranked(importance: HeadImportance) -> Sequence[dict[str, Any]]:
    """All heads, the most important first."""
    return sorted(importance.rows(), key=lambda row: -row["importance"])
