"""The nearest vectors of a snapshot: by faiss among what it was built from, one by one among what came since, and only those that are allowed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plume.search.backend import NONE, Matches, Vectors
from plume.search.embedded import ann
from plume.search.embedded.asking import Allowed, Found
from plume.search.embedded.snapshot import Snapshot

_FEW = 20_000  # that are left by a filter: comparing all of them is as fast as anything, and exact
_SHARE = 0.02
_MOST_ASKED = 2_048  # of a type that cannot leave rows out
_BLOCK = 1 << 16  # rows that are gathered at once


def find(snapshot: Snapshot, queries: Vectors, *, top: int, allowed: Allowed | None, exact: bool) -> Matches:
    """Scores and keys, padded to `top`."""
    found = None if exact or snapshot.searcher is None or _few(allowed) else _approximate(snapshot, queries, top, allowed)
    if found is None:
        return _padded(_exact(snapshot, queries, allowed, top, 0), top)
    if snapshot.state.built < snapshot.state.rows:
        found = _merged(found, _exact(snapshot, queries, allowed, top, snapshot.state.built), top)
    return _padded(found, top)


def _few(allowed: Allowed | None) -> bool:
    """What is left by removals alone was chosen by nobody, and is as many as before."""
    return allowed is not None and allowed.count <= max(_FEW if allowed.by_filter else 0, int(_SHARE * len(allowed.mask)))


def _approximate(snapshot: Snapshot, queries: Vectors, top: int, allowed: Allowed | None) -> Found | None:
    """By faiss, as far as it was built; None if too few could be had."""
    state, searcher = snapshot.state, snapshot.searcher
    assert searcher is not None
    wanted = min(state.built, top * state.refined)
    if allowed is None:
        found = searcher.nearest(queries, top=wanted, effort=state.effort)
    else:
        effort = min(4_096, int(state.effort * state.rows / allowed.count))  # where much is left out, one has to look further
        found = searcher.nearest(queries, top=wanted, effort=effort, allowed=allowed)
        if found is None:
            found = _overfetched(snapshot, queries, wanted, allowed)
    if found is None or not snapshot.compares:
        return found
    scores, keys = ann.compared(found, queries, snapshot.vectors, snapshot.settings.metric)
    return scores[:, :top], keys[:, :top]


def _overfetched(snapshot: Snapshot, queries: Vectors, wanted: int, allowed: Allowed) -> Found | None:
    """More than are wanted, of which those that are not allowed are dropped."""
    mask = allowed.mask[: snapshot.state.built]
    ask = int(1.2 * wanted * len(allowed.mask) / allowed.count) + 8
    while ask <= _MOST_ASKED:
        assert snapshot.searcher is not None
        found = snapshot.searcher.nearest(queries, top=min(ask, len(mask)), effort=snapshot.state.effort)
        assert found is not None
        scores, keys = found
        good = (keys >= 0) & mask[keys]
        if ask >= len(mask) or (good.sum(axis=1) >= wanted).all():
            return _best(np.where(good, scores, -np.inf), np.where(good, keys, NONE), wanted)
        ask *= 2
    return None


def _exact(snapshot: Snapshot, queries: Vectors, allowed: Allowed | None, top: int, first: int) -> Found:
    """All rows from `first` on that are allowed, one by one."""
    vectors, metric = snapshot.vectors, snapshot.settings.metric
    if allowed is None:
        scores, keys = ann.flat(queries, vectors[first:], top=top, metric=metric)
        return scores, keys + first
    mask = allowed.mask[first:]
    count = int(mask.sum()) if first else allowed.count
    if count > 0.5 * len(mask):  # rather drop some than copy all
        ask = int(1.2 * top * len(mask) / count) + 8
        scores, keys = ann.flat(queries, vectors[first:], top=ask, metric=metric)
        good = mask[keys]
        if good[:, :top].all():
            return scores[:, :top], keys[:, :top] + first
        if (good.sum(axis=1) >= min(top, count)).all():
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
    last = keys.item(-1) if keys.size == top else keys[:, -1:].min(initial=0)  # of one query there is but one
    if missing <= 0 and last >= 0:  # what is missing stands last
        return Matches(keys, scores)
    if missing > 0:
        scores = np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf)
        keys = np.pad(keys, ((0, 0), (0, missing)), constant_values=NONE)
    empty = keys < 0
    return Matches(np.where(empty, NONE, keys), np.where(empty, np.float32(-np.inf), scores).astype(np.float32, copy=False))
