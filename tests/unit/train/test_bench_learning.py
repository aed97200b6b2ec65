"""The pure parts of bench/learning.py: the peer's schedule, its tuning, and which part of its time is the ratio."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from plume.model.schedule import Linear


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = Path(__file__).parents[3] / "bench" / "learning.py"
    monkeypatch.syspath_prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location("plume_bench_learning", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def test_the_ratio_is_that_of_the_shortest_run_that_is_there(bench: ModuleType) -> None:
    def run(loss: float, seconds: float) -> object:
        return bench.Trained(loss=loss, tokens=1, seconds=seconds, trivial=6.0)

    peer = run(5.0, 100.0)
    assert bench.times_shorter(peer, [run(4.2, 25.0), run(4.9, 12.5), run(5.3, 5.0)]) == 8.0
    assert bench.times_shorter(peer, [run(5.1, 25.0)]) == 0.0
    assert bench.told([8.0, 0.0, 20.0], [peer] * 3) == "8.0 (0.0–20.0)"
    assert bench.told([8.0], [run(6.1, 100.0)]) == "8.0; 1 of 1 peers learned no context"
    assert bench.told([0.0], [peer]) == "not reached"


@pytest.mark.parametrize("best", [0.25, 1.0, 8.0])
def test_the_peer_is_tuned_to_its_best_peak_on_either_side(bench: ModuleType, best: float) -> None:
    assert bench.climb(lambda peak: abs(peak - best), 1.0) == best


def test_a_peak_that_diverges_is_not_taken(bench: ModuleType) -> None:
    assert bench.climb(lambda peak: float("nan") if peak > 1 else 2 - peak, 1.0) == 1.0


def test_the_peers_schedule_is_plumes(bench: ModuleType) -> None:
    for progress in (0.0, 0.05, 0.1, 0.5, 1.0, 1.01):
        assert bench.warm_then_linear(progress) == pytest.approx(Linear(warmup=0.1).factor(progress))
