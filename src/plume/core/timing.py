"""How fast something answers, on this machine: alone, or several side by side so that a busy machine favours none."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_TOGETHER = 256  # items of a pass
_ALONE = 100  # single ones at least, where time allows: of fewer, one in a hundred says little
_WARM = 8  # items before anything is timed: the first calls also allocate
_ROUNDS = 5  # passes at least of each of several: what disturbs one of them does not count
_TURN = 10  # single ones before it is another's turn: what it needs is in the cache again


@dataclass(frozen=True, kw_only=True)
class PredictionSpeed:
    """Prediction on this machine, with as many threads as there are now."""

    per_second: float  # examples, a file at a time
    p50: float  # milliseconds for one example alone
    p99: float


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Something that is timed: how it answers items, and which; from each to its answer, nothing left out."""

    answer: Callable[[list[Any]], object]
    items: Sequence[Any]


def measure_side_by_side(works: Sequence[Timed], *, seconds: float = 2.0) -> list[PredictionSpeed]:
    """Each for about so long: half for passes over its first items, half for one item after another, alone; they take turns.

    What is slow gets fewer items, the first of the same, and at most twice its share of time for the single ones.
    """
    for work in works:
        work.answer(list(work.items[:_WARM]))
    share = len(works) * seconds / 2
    passes = 1 if len(works) == 1 else _ROUNDS
    count = min(_affordable(work, seconds / 2 / passes) for work in works)
    together, alone = _rates(works, count, share), _latencies(works, share)
    return [_speed(together=rates, alone=latencies) for rates, latencies in zip(together, alone, strict=True)]


def _speed(*, together: Sequence[float], alone: Sequence[float]) -> PredictionSpeed:
    p50, p99 = np.percentile(alone, [50, 99]).tolist()
    return PredictionSpeed(per_second=float(np.median(together)), p50=1000 * p50, p99=1000 * p99)


def _affordable(work: Timed, seconds: float) -> int:
    """So many that a pass over them fits the time, judged by the first few; never fewer than those."""
    first = work.items[:_WARM]
    each = _timed(work, first) / len(first)
    return min(max(len(first), int(seconds / each)), _TOGETHER, len(work.items))


def _rates(works: Sequence[Timed], count: int, seconds: float) -> list[list[float]]:
    """Items a second, pass by pass."""
    found: list[list[float]] = [[] for _ in works]
    end = time.perf_counter() + seconds
    while not found[0] or time.perf_counter() < end:
        for work, own in zip(works, found, strict=True):
            own.append(min(count, len(work.items)) / _timed(work, work.items[:count]))
    return found


def _latencies(works: Sequence[Timed], seconds: float) -> list[list[float]]:
    """Seconds of single items, in their order and from their beginning again."""
    found: list[list[float]] = [[] for _ in works]
    began = time.perf_counter()

    def goes_on() -> bool:
        spent, least = time.perf_counter() - began, min(map(len, found))
        return spent < seconds or (least < _ALONE and spent < 2 * seconds) or not least

    while goes_on():
        for work, own in zip(works, found, strict=True):
            for _ in range(_TURN if len(works) > 1 else 1):
                own.append(_timed(work, [work.items[len(own) % min(len(work.items), _TOGETHER)]]))
                if _TURN * own[-1] > seconds:  # slow ones would wait long for their turn
                    break
    return found


def _timed(work: Timed, items: Sequence[Any]) -> float:
    began = time.perf_counter()
    work.answer(list(items))
    return time.perf_counter() - began
