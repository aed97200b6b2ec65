"""The nearest vectors of a snapshot: by faiss among what it was built from, one by one among what came since, and only those that are allowed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plume.search.backend import NONE, Matches, Vectors
from plume.search.embedded import ann
from plume.search.embedded.snapshot import Mask, Snapshot
from plume.search.settings import Metric

_FEW = 20_000  # that are left by a filter: comparing all of them is as fast as anything, and exact
_SHARE = 0.02
_MOST_ASKED = 2_048  # of a type that cannot leave rows out
_BLOCK = 1 << 16  # rows that are gathered at once
Found = tuple[NDArray[np.float32], NDArray[np.int64]]


def find(snapshot: Snapshot, queries: Vectors, *, top: int, allowed: tuple[Mask, int] | None, exact: bool) -> Matches:
    """Scores and keys, padded to `top`."""
    rows, vectors, metric = snapshot.state.rows, snapshot.vectors, snapshot.settings.metric
    few = allowed is not None and allowed[1] <= max(_FEW, int(_SHARE * rows))
    found = None if exact or few or snapshot.ann is None else _approximate(snapshot, queries, top, allowed)
    if found is None:
        return _padded(_exact(queries, vectors, allowed, top, metric, 0), top)
    if snapshot.state.built < rows:
        found = _merged(found, _exact(queries, vectors, allowed, top, metric, snapshot.state.built), top)
    return _padded(found, top)


def _approximate(snapshot: Snapshot, queries: Vectors, top: int, allowed: tuple[Mask, int] | None) -> Found | None:
    """By faiss, as far as it was built; None if too few could be had."""
    state = snapshot.state
    share = 1.0 if allowed is None else allowed[1] / state.rows
    mask = None if allowed is None else allowed[0][: state.built]
    wanted = min(state.built, top * state.refined)
    effort = min(4_096, int(state.effort / share))  # where much is left out, one has to look further
    found = ann.nearest(snapshot.ann, queries, top=wanted, effort=effort, allowed=mask)
    if found is None:
        assert mask is not None
        found = _overfetched(snapshot, queries, wanted, mask, share)
    if found is None:
        return None
    if state.refined > 1 or not (
        ann.is_exact(state.type or "") or (state.built == state.rows and not (state.type or "").startswith("LSH"))
    ):
        found = ann.compared(found, queries, snapshot.vectors, snapshot.settings.metric)
    return found[0][:, :top], found[1][:, :top]


def _overfetched(snapshot: Snapshot, queries: Vectors, wanted: int, mask: Mask, share: float) -> Found | None:
    """More than are wanted, of which those that are not allowed are dropped."""
    ask = int(1.2 * wanted / share) + 8
    while ask <= _MOST_ASKED:
        found = ann.nearest(snapshot.ann, queries, top=min(ask, len(mask)), effort=snapshot.state.effort)
        assert found is not None
        scores, keys = found
        good = (keys >= 0) & mask[keys]
        if ask >= len(mask) or (good.sum(axis=1) >= wanted).all():
            return _best(np.where(good, scores, -np.inf), np.where(good, keys, NONE), wanted)
        ask *= 2
    return None


def _exact(queries: Vectors, vectors: Vectors, allowed: tuple[Mask, int] | None, top: int, metric: Metric, first: int) -> Found:
    """All rows from `first` on that are allowed, one by one."""
    if allowed is None:
        scores, keys = ann.flat(queries, vectors[first:], top=top, metric=metric)
        return scores, keys + first
    mask = allowed[0][first:]
    if mask.sum() > 0.5 * len(mask):  # rather drop some than copy all
        ask = int(1.2 * top * len(mask) / mask.sum()) + 8
        scores, keys = ann.flat(queries, vectors[first:], top=ask, metric=metric)
        good = mask[keys]
        if (good.sum(axis=1) >= min(top, mask.sum())).all():
            return _best(np.where(good, scores, -np.inf), np.where(good, keys + first, NONE), top)
    rows = np.flatnonzero(mask) + first
    found: Found = np.zeros((len(queries), 0), np.float32), np.zeros((len(queries), 0), np.int64)
    for begin in range(0, len(rows), _BLOCK):
        some = rows[begin : begin + _BLOCK]
        scores, places = ann.flat(queries, vectors[some], top=top, metric=metric)
        found = _merged(found, (scores, some[places]), top)
    return found


def _merged(one: Found, other: Found, top: int) -> Found:
    return _best(np.concatenate([one[0], other[0]], axis=1), np.concatenate([one[1], other[1]], axis=1), top)


def _best(scores: NDArray[np.float32], keys: NDArray[np.int64], top: int) -> Found:
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(keys, order, axis=1)


def _padded(found: Found, top: int) -> Matches:
    scores, keys = found
    missing = top - keys.shape[1]
    if missing <= 0 and keys[:, -1].min(initial=0) >= 0:  # what is missing stands last
        return Matches(keys, scores)
    if missing > 0:
        scores = np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf)
        keys = np.pad(keys, ((0, 0), (0, missing)), constant_values=NONE)
    empty = keys < 0
    return Matches(np.where(empty, NONE, keys), np.where(empty, np.float32(-np.inf), scores).astype(np.float32, copy=False))
