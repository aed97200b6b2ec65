"""The best of a run: measured on dev, kept apart, and the end of the run when nothing better comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import write_json
from plume.metrics.scores import ERRORS, HUNDREDS
from plume.model.checkpoint import save_weights, state_of
from plume.train.budget import Spent
from plume.train.metrics import read_metrics
from plume.tuning.preparing import PreparedTask
from plume.tuning.settings import TuneSettings
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel

BEST, BEST_SCORE = Path("train") / "best.safetensors", Path("train") / "best.json"
_REHEARSED = 8  # dev examples that are measured before a run begins


class Best:
    """Keeps the weights that measured best, and says when no better ones come."""

    def __init__(self, tuned: TunedModel, prepared: Sequence[PreparedTask], settings: TuneSettings, folder: Path, *, write: bool) -> None:
        self.tuned, self.prepared, self.settings, self.folder, self.write = tuned, prepared, settings, folder, write

    @property
    def held_out(self) -> bool:
        """Are there examples that were not trained on?"""
        return any(one.held_out for one in self.prepared)

    @cached_property
    def history(self) -> list[float]:
        """What has been measured, in order; read back where a run goes on. First asked for when the run has begun, and its log has
        forgotten what came after the checkpoint."""
        lines = [_held_out(line) for line in read_metrics(self.folder)]
        return [self.main(scores) for scores in lines if scores]

    def measure(self, spent: Spent) -> dict[str, float]:
        """Every task's dev scores; weights that measure best are kept."""
        model = self.tuned.model
        model.eval()
        found: dict[str, float] = {}
        for one in self.prepared:
            scores = self.tuned.measure(one.task, one.dev, one.readings[-1]).scores
            found |= {self._prefix(one.task) + name: value for name, value in scores.items()}
        model.train()
        main = self.main(found)
        # Of equals the later one, which is surer of itself; so of all where nothing was held out that could tell.
        if self.write and (not self.held_out or main >= max(self.history, default=-np.inf)):
            save_weights(self.folder / BEST, state_of(model))
            write_json(self.folder / BEST_SCORE, {"step": spent.steps, "main": main, "scores": found})
        self.history.append(main)
        # Those of single classes are in best.json and the card, but for one that decides.
        return {name: value for name, value in found.items() if "/" not in name or name in self.deciding}

    def main(self, scores: Mapping[str, float]) -> float:
        """What decides: the mean over the tasks of the metric that each goes by."""
        for name in self.deciding:
            if name not in scores:
                raise PlumeError(f"'{name}' is not measured here: choose --metric from {', '.join(scores)}.")
        return sum(_weighed(name, scores[name]) for name in self.deciding) / len(self.deciding)

    @property
    def deciding(self) -> list[str]:
        """The task's own metric, or the one that was asked for; with several tasks `ner.f1` lets one task decide."""
        metric = self.settings.metric
        if metric is not None and len(self.prepared) > 1 and metric.split(".")[0] in {one.task.called for one in self.prepared}:
            return [metric]
        return [self._prefix(one.task) + (metric or one.task.metric) for one in self.prepared]

    def rehearse(self) -> None:
        """Measure a few examples, so that what cannot be measured is known before anything is trained or written."""
        few = {
            self._prefix(one.task) + name: value
            for one in self.prepared
            for name, value in self.tuned.measure(one.task, one.dev[:_REHEARSED], one.readings[-1]).scores.items()
        }
        if self.settings.metric is None or "/" not in self.settings.metric:  # a class may not be among the few
            self.main(few)

    def _prefix(self, task: Task) -> str:
        return f"{task.called}." if len(self.prepared) > 1 else ""

    def enough(self) -> bool:
        """Have the last `patience` measurements brought nothing better?"""
        if not self.held_out:
            return False
        after = len(self.history) - 1 - int(np.argmax(self.history)) if self.history else 0
        return after >= self.settings.patience


def _weighed(name: str, value: float) -> float:
    """So that more is better, and 1 the best: an error counts against, and BLEU and chrF go up to 100."""
    metric = name.rpartition(".")[2]
    return -value if metric in ERRORS else value / 100 if metric in HUNDREDS else value


def _held_out(line: Mapping[str, Any]) -> dict[str, float]:
    """The dev scores in a line of metrics.jsonl."""
    return {name.removeprefix("held_out/"): float(value) for name, value in line.items() if name.startswith("held_out/")}
