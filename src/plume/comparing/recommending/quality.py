"""Quality: the mean over tasks, each score as a share of the best there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from plume.comparing.results import TaskRecord
from plume.comparing.significance.resampling import Resampled, Scores

RowsByTask = Mapping[str, Scores]  # task → model → seed
Tables = Mapping[str, Mapping[str, Resampled]]  # task → model


def tasks_of(model: str, tasks: Sequence[TaskRecord], row_scores: RowsByTask) -> tuple[str, ...]:
    """Those that a model has a score on."""
    return tuple(task.name for task in tasks if row_scores.get(task.name, {}).get(model))


def candidates(names: Sequence[str], tasks: Sequence[TaskRecord], row_scores: RowsByTask) -> list[str]:
    """Those with a score on every task. Where there are none: those with the most tasks, and all the same ones, so that they can be compared."""
    held = {name: tasks_of(name, tasks, row_scores) for name in names}
    if not held:
        return []
    kinds = list(held.values())
    most = max(kinds, key=lambda some: (len(some), kinds.count(some)))
    return [name for name, some in held.items() if some == most]


def shares(table: Mapping[str, Resampled], best: float) -> dict[str, Resampled]:
    """Of the best score that there is."""
    return {
        model: Resampled(rows=one.rows, seeds=one.seeds, scores=one.scores / best, draws=one.draws / best) for model, one in table.items()
    }


def quality_over(names: Sequence[str], tasks: Sequence[str], tables: Tables) -> dict[str, Resampled]:
    """The mean over tasks, seed by seed: a pre-training run that went badly is bad for all its tasks."""
    return {name: _over_tasks([tables[task][name] for task in tasks]) for name in names}


def _over_tasks(parts: Sequence[Resampled]) -> Resampled:
    seeds = seeds_of_all(part.seeds for part in parts)
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


def seeds_of_all(held: Iterable[Iterable[int]]) -> list[int]:
    """Those that every task has."""
    return sorted(set.intersection(*map(set, held)))
