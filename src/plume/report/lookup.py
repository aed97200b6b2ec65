"""The records of a study by name, and the means that several sections show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from plume.comparing.results import (
    ModelRecord,
    PredictionSpeed,
    PretrainRecord,
    Results,
    ScoreRecord,
    Standing,
    Status,
    Summary,
    TaskRecord,
)
from plume.report.charts.drawing import Shape
from plume.report.words import Wording

_SLOWED = 0.85  # of the tokens that the same model saw with another seed; undisturbed runs differ by less


@dataclass(frozen=True, kw_only=True)
class StudyLookup:
    results: Results
    words: Wording

    @cached_property
    def models(self) -> dict[str, ModelRecord]:
        return {model.name: model for model in self.results.models}

    @cached_property
    def tasks(self) -> dict[str, TaskRecord]:
        return {task.name: task for task in self.results.tasks}

    @cached_property
    def standings(self) -> dict[str, Standing]:
        return {standing.model: standing for standing in self.results.standings}

    @cached_property
    def _summaries(self) -> dict[tuple[str, str], Summary]:
        return {(summary.model, summary.task): summary for summary in self.results.summaries}

    def summary(self, model: str, task: str) -> Summary | None:
        return self._summaries.get((model, task))

    def scored_tasks(self, model: str) -> list[str]:
        return [task for task in self.tasks if self.summary(model, task)]

    def candidates(self, model: str) -> list[str]:
        """All that have a score on the same tasks, itself among them."""
        return [name for name in self.standings if self.scored_tasks(name) == self.scored_tasks(model)]

    def leaderboard(self, task: str) -> list[Summary]:
        return sorted((summary for summary in self.results.summaries if summary.task == task), key=lambda summary: -summary.mean)

    def recipes(self) -> list[ModelRecord]:
        """Those to choose among, best first; then those without a score on every task, and those without any."""
        return self._ranked([model for model in self.results.models if model.control is None])

    def controls(self) -> list[ModelRecord]:
        return self._ranked([model for model in self.results.models if model.control is not None])

    def _ranked(self, models: list[ModelRecord]) -> list[ModelRecord]:
        def key(model: ModelRecord) -> tuple[bool, bool, float]:
            standing = self.standings.get(model.name)
            return (standing is None, standing is None or not standing.complete, -standing.quality if standing else 0.0)

        return sorted(models, key=key)

    def cells(self, model: str, task: str) -> list[ScoreRecord]:
        return sorted((cell for cell in self.results.scores if (cell.model, cell.task) == (model, task)), key=lambda cell: cell.seed)

    def done(self, model: str, task: str) -> list[ScoreRecord]:
        return [cell for cell in self.cells(model, task) if cell.status is Status.DONE and cell.main is not None]

    def runs(self, model: str) -> list[PretrainRecord]:
        return [run for run in self.results.pretraining if run.model == model and run.status is Status.DONE]

    def slowed(self) -> list[PretrainRecord]:
        """Runs that did clearly less in their time than the same model with another seed: something else was using the machine."""
        if self.results.budget_unit != "seconds":
            return []
        most = {model: max((run.tokens for run in self.runs(model)), default=0) for model in self.models}
        return [run for model in self.models for run in self.runs(model) if run.tokens < _SLOWED * most[model]]

    def tokens(self, model: str) -> float:
        return mean([run.tokens for run in self.runs(model)])

    def tokens_per_second(self, model: str) -> float:
        return mean([run.tokens / run.seconds for run in self.runs(model) if run.seconds])

    def peak_memory(self, model: str) -> int:
        tuned = [cell.peak_memory for cell in self.results.scores if cell.model == model]
        return max([run.peak_memory for run in self.runs(model)] + tuned, default=0)

    def speeds(self, model: str) -> list[PredictionSpeed]:
        return [cell.speed for cell in self.results.scores if cell.model == model and cell.speed]

    def latency(self, model: str) -> tuple[float | None, float | None]:
        """p50 and p99 over tasks and seeds."""
        speeds = self.speeds(model)
        return geometric([speed.p50 for speed in speeds]), geometric([speed.p99 for speed in speeds])

    def several_seeds(self) -> bool:
        """Of which there are scores."""
        return any(summary.seeds > 1 for summary in self.results.summaries)

    def shape(self, model: str) -> Shape:
        record = self.models.get(model)
        return Shape.CONTROL if record and record.control else Shape.MODEL

    def named(self, model: str) -> str:
        """A control with a word on what it is."""
        record = self.models.get(model)
        return self.words("with_note", name=model, note=self.words.of(record.control)) if record and record.control else model


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def geometric(values: Sequence[float]) -> float | None:
    positive = [value for value in values if value > 0]
    return math.exp(mean([math.log(value) for value in positive])) if positive else None
