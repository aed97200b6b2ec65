"""Which model to ship: of those that are as good as the best, by all that can be told, and about as fast as the fastest of them, the better one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from plume.comparing.results import (
    Comparison,
    Control,
    ModelRecord,
    PretrainRecord,
    Recommendation,
    ScoreRecord,
    Standing,
    Status,
    TaskRecord,
    Verdict,
)
from plume.comparing.significance.resampling import Resampled, Scores
from plume.comparing.significance.statistics import alike, compare_all, interval

_AS_FAST = 0.9  # timings of the same network differ by some percent

RowsByTask = Mapping[str, Scores]  # task → model → seed
Tables = Mapping[str, Mapping[str, Resampled]]  # task → model


def standings(
    tasks: Sequence[TaskRecord],
    models: Sequence[ModelRecord],
    scores: Sequence[ScoreRecord],
    pretraining: Sequence[PretrainRecord],
    row_scores: RowsByTask,
) -> list[Standing]:
    """The best first; those that lack a task behind those that have all, as their quality is of other tasks."""
    found = [_standing(model, tasks, scores, pretraining, row_scores) for model in models if _tasks_of(model.name, tasks, row_scores)]
    whole = [one for one in found if one.complete]
    faster, sooner = _front(whole, lambda one: one.per_second), _front(whole, lambda one: -one.seconds)
    marked = [replace(one, pareto=one.model in faster, making_pareto=one.model in sooner) for one in found]
    return sorted(marked, key=lambda one: (not one.complete, -one.quality))


def recommend(
    tasks: Sequence[TaskRecord],
    models: Sequence[ModelRecord],
    scores: Sequence[ScoreRecord],
    pretraining: Sequence[PretrainRecord],
    row_scores: RowsByTask,
    resampled: Tables,
) -> Recommendation | None:
    """None: nothing was scored. A control may be the one: then pre-training did not pay here."""
    ranked = {one.model: one for one in standings(tasks, models, scores, pretraining, row_scores)}
    names = _candidates(list(ranked), tasks, row_scores)
    if not names:
        return None
    tables = {task.name: _shares(resampled[task.name], task.best) for task in tasks}
    over = _tasks_of(names[0], tasks, row_scores)
    quality = _quality(names, over, tables)
    comparisons = compare_all("", quality)
    best = max(quality, key=lambda name: quality[name].mean)
    controlling = {one.name for one in models if one.control is not None}
    # That two cannot be told apart does not make them equal: speed must not cost what the best is shown to bring.
    beaten = [name for name in quality if name in controlling and _better(best, name, comparisons)]
    near = alike(best, comparisons)
    group = {name for name in near if name == best or all(_better(name, other, comparisons) for other in beaten)}
    # The fastest; of those that are as fast but for the jitter of timing, the better. A control only where nothing else is as fast.
    timed = all(ranked[name].per_second for name in group)  # else speed decides nothing
    fastest = max(ranked[name].per_second for name in group)
    quick = [name for name in group if ranked[name].per_second >= _AS_FAST * fastest] if timed else [best]
    model = min(quick, key=lambda name: (name in controlling, -quality[name].mean))
    controls = _controls(models, ranked)

    def beats(control: Control) -> bool | None:
        other = controls.get(control)
        if other in quality:
            return other != model and _better(model, other, comparisons)
        return None if other is None else _better_where_both_are(model, other, over, tables)

    return Recommendation(
        model=model,
        alike=tuple(name for name in names if name in group and name != model),
        best=best,
        timed=timed,
        beats_scratch=beats(Control.SCRATCH),
        beats_static=beats(Control.STATIC),
        unproven=tuple(name for name in names if name in near - group),
    )


def _controls(models: Sequence[ModelRecord], ranked: Mapping[str, Standing]) -> dict[Control, str]:
    """Those that were scored. The better ones come last: of several word vectors the best is the control."""
    scored = sorted((one for one in models if one.name in ranked), key=lambda one: ranked[one.name].quality)
    return {one.control: one.name for one in scored if one.control}


def _better_where_both_are(model: str, other: str, tasks: Sequence[str], tables: Tables) -> bool | None:
    """The other lacks some of the tasks: those that both have decide."""
    both = [task for task in tasks if other in tables[task]]
    return _better(model, other, compare_all("", _quality([model, other], both, tables))) if both else None


def _standing(
    model: ModelRecord,
    tasks: Sequence[TaskRecord],
    scores: Sequence[ScoreRecord],
    pretraining: Sequence[PretrainRecord],
    row_scores: RowsByTask,
) -> Standing:
    names = _tasks_of(model.name, tasks, row_scores)
    best = {task.name: task.best for task in tasks}
    shares = {task: {seed: one.score / best[task] for seed, one in row_scores[task][model.name].items()} for task in names}
    own = [one for one in scores if one.model == model.name and one.status is Status.DONE and one.task in names]
    made = [one.seconds for one in pretraining if one.model == model.name and one.status is Status.DONE]
    speeds = {task: [one.speed.per_second for one in own if one.task == task and one.speed is not None] for task in names}
    tuned = {task: [one.seconds for one in own if one.task == task] for task in names}
    whole = [float(np.mean([shares[task][seed] for task in names])) for seed in _seeds(shares.values())]
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


def _tasks_of(model: str, tasks: Sequence[TaskRecord], row_scores: RowsByTask) -> tuple[str, ...]:
    return tuple(task.name for task in tasks if row_scores.get(task.name, {}).get(model))


def _candidates(names: Sequence[str], tasks: Sequence[TaskRecord], row_scores: RowsByTask) -> list[str]:
    """Those with a score on every task. Where there are none: those with the most tasks, and all the same ones, so that they can be compared."""
    held = {name: _tasks_of(name, tasks, row_scores) for name in names}
    if not held:
        return []
    kinds = list(held.values())
    most = max(kinds, key=lambda some: (len(some), kinds.count(some)))
    return [name for name, some in held.items() if some == most]


def _shares(table: Mapping[str, Resampled], best: float) -> dict[str, Resampled]:
    """Of the best score that there is."""
    return {
        model: Resampled(rows=one.rows, seeds=one.seeds, scores=one.scores / best, draws=one.draws / best) for model, one in table.items()
    }


def _quality(names: Sequence[str], tasks: Sequence[str], tables: Tables) -> dict[str, Resampled]:
    """The mean over tasks, seed by seed: a pre-training run that went badly is bad for all its tasks."""
    return {name: _over_tasks([tables[task][name] for task in tasks]) for name in names}


def _over_tasks(parts: Sequence[Resampled]) -> Resampled:
    seeds = _seeds(part.seeds for part in parts)
    rows = min(part.rows for part in parts)
    if not seeds:  # no seed has all tasks: the means of what there is, as one run
        scores, draws = np.array([np.mean([part.mean for part in parts])]), np.mean([part.draws.mean(0) for part in parts], axis=0)[None]
        return Resampled(rows=rows, seeds=(0,), scores=scores, draws=draws)
    places = [[part.seeds.index(seed) for seed in seeds] for part in parts]
    return Resampled(
        rows=rows,
        seeds=tuple(seeds),
        scores=np.mean([part.scores[place] for part, place in zip(parts, places, strict=True)], axis=0),
        draws=np.mean([part.draws[place] for part, place in zip(parts, places, strict=True)], axis=0),
    )


def _seeds(held: Iterable[Iterable[int]]) -> list[int]:
    """Those that every task has."""
    return sorted(set.intersection(*map(set, held)))


def _front(standings: Sequence[Standing], gain: Callable[[Standing], float]) -> set[str]:
    """Those than which no other is at least as good and gains as much, and more so in one."""
    at = {one.model: (one.quality, gain(one)) for one in standings}
    return {
        model
        for model, here in at.items()
        if not any(there != here and there[0] >= here[0] and there[1] >= here[1] for there in at.values())
    }


def _better(model: str, other: str, comparisons: Sequence[Comparison]) -> bool:
    wins = {(one.first, one.second): one.verdict for one in comparisons}
    return wins.get((model, other)) is Verdict.FIRST or wins.get((other, model)) is Verdict.SECOND


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(float(np.mean(np.log(values)))) if values and min(values) > 0 else 0.0
