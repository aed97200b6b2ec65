"""The type of an index, chosen by measuring: on a sample, recall@10 against comparing with all, time a query, memory, time to build."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.search.backend import Vectors
from plume.search.embedded import ann
from plume.search.settings import IndexSettings, Metric

_QUERIES = 200
_TOP = 10
_CANDIDATES = ("ivfadc-refine", "ivf-sq", "ivf", "hnsw")
_ROUNDS = 3
_WORTH = 0.7  # of the time that comparing with all takes: what is hardly faster is not worth its memory


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
    """All that were tried, one of them chosen: the smallest that reaches the recall and is worth it; else all vectors are compared."""
    split = np.random.default_rng(0).permutation(len(vectors))
    queries, held = vectors[np.sort(split[:_QUERIES])], vectors[np.sort(split[_QUERIES:])]
    right = ann.flat(queries, held, top=_TOP, metric=metric)[1]
    flat = Tried(
        type="flat", recall=1.0, milliseconds=_timed(lambda: ann.flat(queries, held, top=_TOP, metric=metric)), megabytes=0.0, seconds=0.0
    )
    tried = [flat, *(_try(name, queries, held, right, metric, recall, rows) for name in _CANDIDATES)]
    good = [one for one in tried if one.recall >= recall and (one is flat or one.milliseconds < _WORTH * flat.milliseconds)]
    faster = [one for one in good if one is not flat]
    best = min(faster, key=lambda one: one.megabytes) if faster else flat
    return [replace(one, chosen=one is best) for one in tried]


def _try(name: str, queries: Vectors, held: Vectors, right: NDArray[np.int64], metric: Metric, recall: float, rows: int) -> Tried:
    string = ann.factory(name, dimension=held.shape[1], rows=len(held))
    began = time.perf_counter()
    index = ann.declared(string, held.shape[1], metric)
    ann.fill(index, held, [held])
    seconds = time.perf_counter() - began
    effort, reached = _effort(index, string, queries, held, right, metric, recall)
    milliseconds = _timed(lambda: _found(index, string, queries, held, metric, effort))
    megabytes = ann.size_in_memory(index) / 1e6 * rows / len(held)
    return Tried(type=name, recall=reached, milliseconds=milliseconds, megabytes=megabytes, seconds=seconds, effort=effort)


def _effort(
    index: Any, string: str, queries: Vectors, held: Vectors, right: NDArray[np.int64], metric: Metric, recall: float,
    own: NDArray[np.int64] | None = None,
) -> tuple[int, float]:  # fmt: skip
    """The least that reaches the recall, by doubling; where more does not help, what it reaches. `own` are rows that the queries are themselves."""
    reached = 0.0
    for effort in ann.efforts(string):
        found = _found(index, string, queries, held, metric, effort, _TOP if own is None else _TOP + 1)
        if own is not None:
            found = _without(found, own)
        reached = float(np.mean([len(np.intersect1d(one, other)) / max(1, len(other)) for one, other in zip(found, right, strict=True)]))
        if reached >= recall:
            break
    return effort, reached


def _without(found: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack([row[row != place][:_TOP] if place in row else row[:_TOP] for row, place in zip(found, own, strict=True)])


def _found(index: Any, string: str, queries: Vectors, held: Vectors, metric: Metric, effort: int, top: int = _TOP) -> NDArray[np.int64]:
    refined = ann.coarse(string)[1]
    found = ann.nearest(index, queries, top=top * (ann.REFINED if refined else 1), effort=effort)
    assert found is not None
    return (ann.compared(found, queries, held, metric) if refined else found)[1][:, :top]


def measured_effort(index: Any, string: str, vectors: Vectors, settings: IndexSettings) -> int:
    """On the index itself, with some of its own rows, as many as take little time to compare with all; that each finds itself does not count."""
    if len(ann.efforts(string)) == 1:
        return ann.efforts(string)[0]
    count = int(min(_QUERIES, len(vectors), max(20, 2e10 // vectors.size)))
    places = np.sort(np.random.default_rng(1).choice(len(vectors), count, replace=False))
    queries = np.array(vectors[places])
    right = _without(ann.flat(queries, np.asarray(vectors), top=_TOP + 1, metric=settings.metric)[1], places)
    return _effort(index, string, queries, vectors, right, settings.metric, settings.recall, places)[0]


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
