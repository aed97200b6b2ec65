"""What the recommendation costs, measured on simulated studies whose truth is known: those of bench/recommendation.py, fewer of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

STUDIES = 60  # for each scatter of the true qualities
SEEDS = {"few": (1, 2), "many": (5, 10)}


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    path = Path(__file__).parents[3] / "bench" / "recommendation.py"
    spec = importlib.util.spec_from_file_location("plume_bench_recommendation", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def measured(bench: ModuleType) -> dict[str, list[Any]]:
    return {name: [bench.measure(STUDIES, seeds=seeds, margins=(1.0, 2.0)) for seeds in counts] for name, counts in SEEDS.items()}


def mean(found: list[Any], what: str, rule: str) -> float:
    return float(np.mean([getattr(one, what)[rule] for one in found]))


@pytest.mark.parametrize("seeds", SEEDS)
def test_no_more_is_lost_than_by_the_highest_mean_and_far_less_than_by_the_fastest_not_told_apart(
    measured: dict[str, list[Any]], seeds: str
) -> None:
    ours, highest, fastest = (mean(measured[seeds], "regret", rule) for rule in ("margin 1", "highest mean", "fastest not told apart"))
    assert ours <= highest + 0.03
    assert ours < 0.5 * fastest


@pytest.mark.parametrize("seeds", SEEDS)
def test_where_speed_has_a_worth_it_is_better_than_both(measured: dict[str, list[Any]], seeds: str) -> None:
    """Twice as fast is worth half a point; who says so gives a margin of two."""
    ours, highest, fastest = (mean(measured[seeds], "utility", rule) for rule in ("margin 2", "highest mean", "fastest not told apart"))
    assert ours > highest + 0.05 and ours > fastest + 0.05
    assert mean(measured[seeds], "regret", "margin 2") < mean(measured[seeds], "regret", "highest mean") + 0.15


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_risk_that_is_said_is_the_true_one(measured: dict[str, list[Any]], seeds: str) -> None:
    said, true = (float(np.mean([getattr(one, what) for one in measured[seeds]])) for what in ("said", "true"))
    assert said == pytest.approx(true, abs=0.06)


def test_more_seeds_leave_less_undecided(measured: dict[str, list[Any]]) -> None:
    shares = [one.undecided for found in measured.values() for one in found]
    assert shares == sorted(shares, reverse=True) and shares[-1] < 0.15
