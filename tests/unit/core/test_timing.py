"""Several that are timed take turns: what slows the machine slows all of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from plume.core import timing
from plume.core.timing import Timed, measure_side_by_side


def test_they_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine becomes ten times slower halfway: the ratio is as it was."""
    clock, calls = [0.0], []  # type: tuple[list[float], list[tuple[str, int]]]
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def work(name: str, each: float) -> Timed:
        def answer(items: list[int]) -> None:
            calls.append((name, len(items)))
            clock[0] += each * len(items) * (10 if clock[0] > 1 else 1)

        return Timed(answer=answer, items=range(300))

    slow, fast = measure_side_by_side([work("slow", 0.004), work("fast", 0.001)], seconds=2.0)
    assert fast.per_second == pytest.approx(4 * slow.per_second, rel=0.2) and slow.p50 == pytest.approx(4 * fast.p50)
    passes = [name for name, count in calls if count > 8]
    assert passes == ["slow", "fast"] * (len(passes) // 2) and {count for name, count in calls if count > 8} == {49}, (
        "the same items for both"
    )
    alone = [name for name, count in calls if count == 1]
    assert alone[:20] == ["slow"] * 10 + ["fast"] * 10 and alone.count("slow") == alone.count("fast")


def test_very_slow_ones_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = [0.0], []  # type: tuple[list[float], list[int]]
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def answer(items: list[int]) -> None:
        calls.append(len(items))
        clock[0] += 1.0

    found = measure_side_by_side([Timed(answer=answer, items=range(9))] * 2, seconds=1.0)
    assert [one.p50 for one in found] == [1000, 1000] and calls.count(1) <= 4
