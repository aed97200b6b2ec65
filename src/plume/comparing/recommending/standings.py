"""Every model over all tasks, with what it costs: what the choice is made among."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from plume.comparing.recommending.quality import RowsByTask, seeds_of_all, tasks_of
from plume.comparing.results import ModelRecord, PretrainRecord, ScoreRecord, Standing, Status, TaskRecord
from plume.comparing.significance.statistics import interval


def standings(
    tasks: Sequence[TaskRecord],
    models: Sequence[ModelRecord],
    scores: Sequence[ScoreRecord],
    pretraining: Sequence[PretrainRecord],
    row_scores: RowsByTask,
) -> list[Standing]:
    """The best first; those that lack a task behind those that have all, as their quality is of other tasks."""
    found = _with_parents(
        models, [_standing(model, tasks, scores, pretraining, row_scores) for model in models if tasks_of(model.name, tasks, row_scores)]
    )
    whole = [one for one in found if one.complete]
    faster, sooner = _front(whole, lambda one: one.per_second), _front(whole, lambda one: -one.seconds)
    marked = [replace(one, pareto=one.model in faster, making_pareto=one.model in sooner) for one in found]
    return sorted(marked, key=lambda one: (not one.complete, -one.quality))


def _with_parents(models: Sequence[ModelRecord], found: Sequence[Standing]) -> list[Standing]:
    """What was made small of another took that one's time too; a student without a teacher did not."""
    seconds = {one.model: one.seconds for one in found}
    for model in models:  # parents stand before what is made of them
        if model.name in seconds and model.made_from and model.control is None:
            seconds[model.name] += seconds.get(model.made_from, 0.0)
    return [replace(one, seconds=seconds[one.model]) for one in found]


def _standing(
    model: ModelRecord,
    tasks: Sequence[TaskRecord],
    scores: Sequence[ScoreRecord],
    pretraining: Sequence[PretrainRecord],
    row_scores: RowsByTask,
) -> Standing:
    names = tasks_of(model.name, tasks, row_scores)
    best = {task.name: task.best for task in tasks}
    shares = {task: {seed: one.score / best[task] for seed, one in row_scores[task][model.name].items()} for task in names}
    own = [one for one in scores if one.model == model.name and one.status is Status.DONE and one.task in names]
    made = [one.seconds for one in pretraining if one.model == model.name and one.status is Status.DONE]
    speeds = {task: [one.speed.per_second for one in own if one.task == task and one.speed is not None] for task in names}
    tuned = {task: [one.seconds for one in own if one.task == task] for task in names}
    whole = [float(np.mean([shares[task][seed] for task in names])) for seed in seeds_of_all(shares.values())]
    low, high = (interval(whole) if whole else None) or (None, None)
    return Standing(
        model=model.name,
        quality=_mean(whole) if whole else float(np.mean([np.mean(list(by_seed.values())) for by_seed in shares.values()])),
        low=low,
        high=high,
        per_second=_geometric_mean([float(np.mean(some)) if some else 0.0 for some in speeds.values()]),
        disk=model.disk,
        seconds=_mean(made) + sum(map(_mean, tuned.values())),
        pareto=False,
        complete=len(names) == len(tasks),
    )


def _front(standings: Sequence[Standing], gain: Callable[[Standing], float]) -> set[str]:
    """Those than which no other is at least as good and gains as much, and more so in one."""
    at = {one.model: (one.quality, gain(one)) for one in standings}
    return {
        model
        for model, here in at.items()
        if not any(there != here and there[0] >= here[0] and there[1] >= here[1] for there in at.values())
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(float(np.mean(np.log(values)))) if values and min(values) > 0 else 0.0
