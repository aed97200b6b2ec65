"""The type of an index, chosen by measuring: on a sample, recall@10 against comparing with all, time a query, memory, time to build."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.search.backend import Vectors
from plume.search.embedded import ann, types
from plume.search.embedded.asking import Searcher
from plume.search.settings import IndexSettings, Metric

_QUERIES = 200
_TOP = 10
_CANDIDATES = ("ivfadc-refine", "ivf-sq", "ivf", "hnsw")
_ROUNDS = 3
_HELPS = 0.005  # recall that looking twice as far must add to be worth going on
_NEAR = 0.01  # the recall of a hundred queries is known to about this
_WORTH = 0.7  # of the time that comparing with all takes: what is hardly faster is not worth its memory


class Effort(NamedTuple):
    """How far to look (lists of IVF, candidates of HNSW), and how many times as many as are wanted to compare exactly."""

    look: int
    refined: int


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One type on the sample."""

    type: str
    recall: float
    milliseconds: float  # a query
    megabytes: float  # beyond the file of vectors, scaled to all rows
    seconds: float  # to build, on the sample
    effort: int = 0
    chosen: bool = False

    def as_json(self) -> dict[str, float | str]:
        """For the state, and --json."""
        return asdict(self)


def choose(vectors: Vectors, metric: Metric, recall: float, *, rows: int) -> list[Tried]:
    """All that were tried, the chosen one marked: the smallest that reaches the recall and is worth it; else all vectors are compared."""
    split = np.random.default_rng(0).permutation(len(vectors))
    queries, held = vectors[np.sort(split[:_QUERIES])], vectors[np.sort(split[_QUERIES:])]
    exact = functools.partial(ann.flat, queries, held, top=_TOP, metric=metric)
    flat = Tried(type="flat", recall=1.0, milliseconds=_timed(exact), megabytes=0.0, seconds=0.0)
    right = exact()[1]
    tried = [flat, *(_try(name, queries, held, right, metric, recall, rows) for name in _CANDIDATES)]
    best = fitting(tried, recall)[0]
    return [replace(one, chosen=one is best) for one in tried]


def fitting(tried: Sequence[Tried], recall: float) -> list[Tried]:
    """Those that reach the recall and are worth it, the smallest first; in the end the first of all, which always does."""
    good = [one for one in tried[1:] if one.recall >= recall and one.milliseconds < _WORTH * tried[0].milliseconds]
    return [*sorted(good, key=lambda one: one.megabytes), tried[0]]


def is_enough(reached: float, settings: IndexSettings) -> bool:
    """Does the recall that was measured on all vectors do?"""
    return reached >= settings.recall - _NEAR


def _try(name: str, queries: Vectors, held: Vectors, right: NDArray[np.int64], metric: Metric, recall: float, rows: int) -> Tried:
    string = types.factory(name, dimension=held.shape[1], rows=len(held))
    began = time.perf_counter()
    index = ann.declared(string, held.shape[1], metric)
    ann.fill(index, held, [held])
    seconds = time.perf_counter() - began
    searcher = Searcher(index)
    effort, reached = _effort(searcher, string, queries, held, right, metric, recall)
    milliseconds = _timed(lambda: _found(searcher, queries, held, metric, effort))
    megabytes = ann.size_in_memory(index) / 1e6 * rows / len(held)
    return Tried(type=name, recall=reached, milliseconds=milliseconds, megabytes=megabytes, seconds=seconds, effort=effort.look)


def _effort(
    searcher: Searcher, string: str, queries: Vectors, held: Vectors, right: NDArray[np.int64], metric: Metric, recall: float,
    own: NDArray[np.int64] | None = None,
) -> tuple[Effort, float]:  # fmt: skip
    """The least that reaches the recall, and what it reaches: one looks further until that no longer helps, then compares more of what is found.
    `own` are rows that the queries are themselves."""
    best, highest = Effort(1, 1), -1.0
    for refined in types.refinements(string):
        before = -1.0
        for look in types.efforts(string):
            found = _found(searcher, queries, held, metric, Effort(look, refined), _TOP if own is None else _TOP + 1)
            reached = _overlap(found if own is None else _without(found, own), right)
            if reached > highest:
                best, highest = Effort(look, refined), reached
            if reached >= recall:
                return best, reached
            if reached - before < _HELPS:
                break
            before = reached
    return best, highest


def _overlap(found: NDArray[np.int64], right: NDArray[np.int64]) -> float:
    return float(np.mean([len(np.intersect1d(one, other)) / max(1, len(other)) for one, other in zip(found, right, strict=True)]))


def _without(found: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack([row[row != place][:_TOP] if place in row else row[:_TOP] for row, place in zip(found, own, strict=True)])


def _found(searcher: Searcher, queries: Vectors, held: Vectors, metric: Metric, effort: Effort, top: int = _TOP) -> NDArray[np.int64]:
    found = searcher.nearest(queries, top=top * effort.refined, effort=effort.look)
    assert found is not None
    return (ann.compared(found, queries, held, metric) if effort.refined > 1 else found)[1][:, :top]


def measured_effort(index: Any, string: str, vectors: Vectors, settings: IndexSettings) -> tuple[Effort, float]:
    """On the index itself, with some of its own rows, as many as take little time to compare with all; that each finds itself does not count."""
    if len(types.efforts(string)) == len(types.refinements(string)) == 1:
        return Effort(1, 1), 1.0
    count = int(min(_QUERIES, len(vectors), max(20, 2e10 // vectors.size)))
    places = np.sort(np.random.default_rng(1).choice(len(vectors), count, replace=False))
    queries = np.array(vectors[places])
    right = _without(ann.flat(queries, np.asarray(vectors), top=_TOP + 1, metric=settings.metric)[1], places)
    return _effort(Searcher(index), string, queries, vectors, right, settings.metric, settings.recall, places)


def _timed(work: Any) -> float:
    """Milliseconds a query; the best of a few rounds."""
    times = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1_000 * min(times) / _QUERIES


def table(tried: Sequence[Tried]) -> str:
    """To print."""
    lines = [f"{'type':<14} {'recall@10':>9} {'ms a query':>10} {'memory MB':>10} {'build s':>8}"]
    lines += [
        f"{one.type:<14} {one.recall:>9.3f} {one.milliseconds:>10.3f} {one.megabytes:>10.1f} {one.seconds:>8.1f}{'  ← chosen' if one.chosen else ''}"
        for one in tried
    ]
    return "\n".join(lines)
