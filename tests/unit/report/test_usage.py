"""What the report shows of runs together is in results.json: computed once, and not by the report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from plume.comparing.results import Results, Status
from plume.comparing.usage import with_usage


def test_what_the_runs_come_to_is_in_the_results(study_of: Callable[..., Results]) -> None:
    results = study_of(models=3, seeds=2)
    name = results.models[0].name
    runs = [run for run in results.pretraining if run.model == name]
    pretraining = (replace(runs[0], tokens=600_000), *(run for run in results.pretraining if run is not runs[0]))
    found = with_usage(replace(results, pretraining=pretraining)).to_json()
    assert [(run["model"], run["seed"]) for run in found["pretraining"] if run["slowed"]] == [(name, 0)]
    by_tokens = with_usage(replace(results, pretraining=pretraining, budget_unit="tokens"))
    assert not any(run.slowed for run in by_tokens.pretraining)
    usage = next(one for one in found["usage"] if one["model"] == name)
    assert usage["tokens"] == (600_000 + runs[1].tokens) / 2 and usage["runs"] == 2
    assert usage["loss"] == pytest.approx(sum(run.curve[-1].loss for run in runs) / 2)
    speeds = [cell.speed.p99 for cell in results.scores if cell.model == name and cell.speed]
    assert usage["p99"] == pytest.approx(math.prod(speeds) ** (1 / len(speeds)))


def test_a_mean_curve_has_the_steps_that_all_seeds_reached(study_of: Callable[..., Results]) -> None:
    results = study_of(models=1, tasks=1, seeds=2)
    name = results.models[0].name
    curves = {0: ((10, 0.2), (20, 0.4), (30, 0.5)), 1: ((10, 0.4), (20, 0.5))}
    scores = tuple(replace(cell, curve=curves[cell.seed]) if cell.model == name else cell for cell in results.scores)
    found = with_usage(replace(results, scores=scores))
    assert [one.curve for one in found.summaries if one.model == name] == [((10, pytest.approx(0.3)), (20, pytest.approx(0.45)))]


def test_a_run_that_was_not_done_counts_for_nothing(study_of: Callable[..., Results]) -> None:
    results = study_of(models=1, seeds=1)
    waiting = tuple(replace(run, status=Status.WAITING) for run in results.pretraining)
    found = with_usage(replace(results, pretraining=waiting))
    assert found.usage[0].runs == 0 and found.usage[0].tokens == 0 and not any(run.slowed for run in found.pretraining)
