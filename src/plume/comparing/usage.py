"""What the runs of a model come to: means over seeds and tasks, and which runs were disturbed. Whatever the report shows of it is in results.json."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from plume.comparing.results import ModelUsage, PretrainRecord, Results, ScoreRecord, Status, Summary

_SLOWED = 0.85  # of the tokens that the same model saw with another seed; undisturbed runs differ by less


def with_usage(results: Results) -> Results:
    """The results with all that follows from their runs."""
    marked = tuple(
        replace(run, slowed=results.budget_unit == "seconds" and _slowed(run, results.pretraining)) for run in results.pretraining
    )
    return replace(
        results,
        pretraining=marked,
        summaries=tuple(replace(one, curve=_mean_curve(one, results.scores)) for one in results.summaries),
        usage=tuple(_usage(model.name, marked, results.scores) for model in results.models),
    )


def _slowed(run: PretrainRecord, runs: Sequence[PretrainRecord]) -> bool:
    """Did it do clearly less in its time than the same model with another seed? Then something else was using the machine."""
    most = max(other.tokens for other in runs if other.model == run.model)
    return run.status is Status.DONE and run.tokens < _SLOWED * most


def _mean_curve(one: Summary, scores: Sequence[ScoreRecord]) -> tuple[tuple[int, float], ...]:
    """The mean over seeds, at the steps that all of them reached."""
    by_seed = [dict(cell.curve) for cell in scores if (cell.model, cell.task) == (one.model, one.task) and _scored(cell) and cell.curve]
    if not by_seed:
        return ()
    steps = sorted(set.intersection(*(set(curve) for curve in by_seed))) or sorted(by_seed[0])
    return tuple((step, _mean([curve[step] for curve in by_seed if step in curve])) for step in steps)


def _usage(model: str, pretraining: Sequence[PretrainRecord], scores: Sequence[ScoreRecord]) -> ModelUsage:
    runs = [run for run in pretraining if run.model == model and run.status is Status.DONE]
    cells = [cell for cell in scores if cell.model == model]
    speeds = [cell.speed for cell in cells if cell.speed]
    tuned: dict[str, list[float]] = {}
    for cell in filter(_scored, cells):
        tuned.setdefault(cell.task, []).append(cell.seconds)
    return ModelUsage(
        model=model,
        runs=len(runs),
        steps=_mean([run.steps for run in runs]),
        tokens=_mean([run.tokens for run in runs]),
        flops=_mean([run.flops for run in runs]),
        seconds=_mean([run.seconds for run in runs]),
        tokens_per_second=_mean([run.tokens / run.seconds for run in runs if run.seconds]),
        loss=_mean([run.curve[-1].loss for run in runs if run.curve]) if any(run.curve for run in runs) else None,
        stuck=bool(runs) and all(run.stuck for run in runs),
        tuning_seconds=sum(map(_mean, tuned.values())),
        peak_memory=max([run.peak_memory for run in runs] + [cell.peak_memory for cell in cells], default=0),
        per_second=_geometric([speed.per_second for speed in speeds]),
        p50=_geometric([speed.p50 for speed in speeds]),
        p99=_geometric([speed.p99 for speed in speeds]),
    )


def _scored(cell: ScoreRecord) -> bool:
    return cell.status is Status.DONE and cell.main is not None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _geometric(values: Sequence[float]) -> float | None:
    positive = [value for value in values if value > 0]
    return math.exp(_mean([math.log(value) for value in positive])) if positive else None
