"""The records of a study by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from plume.comparing.results import (
    ModelGroup,
    ModelRecord,
    ModelUsage,
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

_GROUPS = {
    ModelGroup.NOTHING: "group_nothing",
    ModelGroup.PUBLIC: "group_public",
    ModelGroup.CONTINUED: "group_continued",
    ModelGroup.DERIVED: "group_derived",
    ModelGroup.SMALL: "group_small",
    ModelGroup.CONTROL: "controls",
}


@dataclass(frozen=True, kw_only=True)
class StudyLookup:
    """What sections ask for: records by name and in their order, and the words to show them with."""

    results: Results
    words: Wording

    @cached_property
    def models(self) -> dict[str, ModelRecord]:
        """By name."""
        return {model.name: model for model in self.results.models}

    @cached_property
    def tasks(self) -> dict[str, TaskRecord]:
        """By name."""
        return {task.name: task for task in self.results.tasks}

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """By model; those without any score are not there."""
        return {standing.model: standing for standing in self.results.standings}

    @cached_property
    def _usage(self) -> dict[str, ModelUsage]:
        return {usage.model: usage for usage in self.results.usage}

    def usage(self, model: str) -> ModelUsage:
        """What its runs took; nothing, where none is done."""
        return self._usage.get(model, ModelUsage(model=model))

    @cached_property
    def _summaries(self) -> dict[tuple[str, str], Summary]:
        return {(summary.model, summary.task): summary for summary in self.results.summaries}

    def summary(self, model: str, task: str) -> Summary | None:
        """A model on a task, if it has a score."""
        return self._summaries.get((model, task))

    def scored_tasks(self, model: str) -> list[str]:
        """Those that it has a score on."""
        return [task for task in self.tasks if self.summary(model, task)]

    def candidates(self, model: str) -> list[str]:
        """All that have a score on the same tasks, itself among them."""
        return [name for name in self.standings if self.scored_tasks(name) == self.scored_tasks(model)]

    def leaderboard(self, task: str) -> list[Summary]:
        """The best first."""
        return sorted((summary for summary in self.results.summaries if summary.task == task), key=lambda summary: -summary.mean)

    def recipes(self) -> list[ModelRecord]:
        """Those to choose among, best first; then those without a score on every task, and those without any."""
        return self._ranked([model for model in self.results.models if model.control is None])

    def controls(self) -> list[ModelRecord]:
        """What they are held against, the best first."""
        return self._ranked([model for model in self.results.models if model.control is not None])

    def small(self) -> list[ModelRecord]:
        """What was made small of the others, without the students that are held against them."""
        return [model for model in self.recipes() if model.group is ModelGroup.SMALL]

    def groups(self) -> list[tuple[ModelGroup, list[ModelRecord]]]:
        """All models by what they stand for, baselines last; within a group the best first."""
        found = [(group, self._ranked([model for model in self.results.models if model.group is group])) for group in ModelGroup]
        return [(group, models) for group, models in found if models]

    def group(self, group: ModelGroup) -> str:
        """Its name."""
        return self.words(_GROUPS[group])

    def told(self, model: ModelRecord) -> str:
        """A word to stand beside its name: what kind of baseline it is, and whether its features were frozen."""
        words = [self.words.of(model.control)] if model.control else []
        return self.words("clause_comma").join([*words, *([self.words("mode_features")] if model.mode else [])])

    def _ranked(self, models: list[ModelRecord]) -> list[ModelRecord]:
        def key(model: ModelRecord) -> tuple[bool, bool, float]:
            standing = self.standings.get(model.name)
            return (standing is None, standing is None or not standing.complete, -standing.quality if standing else 0.0)

        return sorted(models, key=key)

    def cells(self, model: str, task: str) -> list[ScoreRecord]:
        """Of all seeds, in their order."""
        return sorted((cell for cell in self.results.scores if (cell.model, cell.task) == (model, task)), key=lambda cell: cell.seed)

    def done(self, model: str, task: str) -> list[ScoreRecord]:
        """Of the seeds that have a score."""
        return [cell for cell in self.cells(model, task) if cell.status is Status.DONE and cell.main is not None]

    def runs(self, model: str) -> list[PretrainRecord]:
        """Its pre-trainings that are done."""
        return [run for run in self.results.pretraining if run.model == model and run.status is Status.DONE]

    def several_seeds(self) -> bool:
        """Of which there are scores."""
        return any(summary.seeds > 1 for summary in self.results.summaries)

    def shape(self, model: str) -> Shape:
        """The sign that stands for it in charts."""
        record = self.models.get(model)
        return Shape.CONTROL if record and record.control else Shape.MODEL

    def named(self, model: str) -> str:
        """A control with a word on what it is."""
        record = self.models.get(model)
        return self.words("with_note", name=model, note=self.words.of(record.control)) if record and record.control else model
