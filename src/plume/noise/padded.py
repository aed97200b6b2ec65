"""Rows of unequal length as right-padded arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.noise.rows import Rows

Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]


def pack(values: Ids, keep: Flags, *, pad: int) -> tuple[Ids, Ids]:
    """Each row's kept values pushed to the left, in order, and how many they are.

    >>> pack(np.array([[7, 8, 9], [4, 5, 6]]), np.array([[True, False, True], [False, True, False]]), pad=0)
    (array([[7, 9],
           [5, 0]]), array([2, 1]))
    """
    length = keep.sum(1)
    packed = np.full((len(values), int(length.max(initial=0))), pad, np.int64)
    packed[np.arange(packed.shape[1]) < length[:, None]] = values[keep]
    return packed, length


def woven(*columns: NDArray[Any]) -> NDArray[Any]:
    """[B, T] arrays interleaved to [B, T · n]: the first of each, the second of each …"""
    return np.stack(columns, axis=2).reshape(len(columns[0]), -1)


def text_bounds(rows: Rows) -> tuple[Ids, Ids]:
    """[B, 1] where the row's text begins and ends, without the special tokens before and after it; 0, 0 where there is none."""
    ordinary = ~rows.special
    width = ordinary.shape[1]
    some = ordinary.any(1)
    first = np.where(some, ordinary.argmax(1), 0)
    end = np.where(some, width - ordinary[:, ::-1].argmax(1), 0)
    return first[:, None], end[:, None]


def first_of_runs(selected: Flags) -> Flags:
    """The first token of each run of selected ones."""
    first = selected.copy()
    first[:, 1:] &= ~selected[:, :-1]
    return first


def lowest(keys: NDArray[np.float64], count: Ids, among: Ids) -> Flags:
    """In each row mark the `count` lowest of its first `among` keys (both [B]): so many distinct places, evenly drawn."""
    width = keys.shape[1]
    order = np.argsort(np.where(np.arange(width) < among[:, None], keys, 2.0), axis=1)
    marked = np.zeros(keys.shape, bool)
    np.put_along_axis(marked, order, np.arange(width) < np.minimum(count, among)[:, None], axis=1)
    return marked
