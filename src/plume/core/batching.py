"""Batching by length: what is alike in length shares a batch, so that hardly any padding is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

TOKENS, ROWS = 8192, 128  # of a batch at use, at most
_LONGER = 1.25  # times the first, if there is nothing alike to fill a batch with


def by_length(
    length: NDArray[np.int64] | Sequence[int],
    *,
    rows: int = ROWS,
    tokens: int | None = TOKENS,
    spread: float | None = None,
    slack: int = 0,
    enough: int = 0,
    sizes: NDArray[np.int64] | None = None,
) -> Iterator[NDArray[np.int64]]:
    """The numbers of the things of like length, the shortest first: at most `rows` of them and `tokens` tokens, padding counted in; at least one.

    None is longer than the first of its batch by more than `spread`, 0.25 being a quarter, and `slack` tokens: 0 and 0 ask for equal lengths. But
    while there are fewer than `enough` tokens, those that are a quarter longer join. A
    thing that is several rows together has its number of them in `sizes`; then `rows` is of things, and `length` that of its longest row.

    >>> [index.tolist() for index in by_length([5, 2, 2, 3, 9], tokens=10)]
    [[1, 2, 3], [0], [4]]
    """
    length = np.asarray(length, np.int64)
    order = np.argsort(length, kind="stable")
    first = 0
    while first < len(order):
        some = order[first : first + rows]
        fits = np.ones(len(some), np.bool_)
        if tokens is not None:
            held = np.arange(1, len(some) + 1) if sizes is None else np.cumsum(sizes[some])
            fits &= held * length[some] <= tokens
        if spread is not None:
            alike = length[some] <= length[some[0]] * (1 + spread) + slack
            if enough:
                alike |= (np.arange(1, len(some) + 1) * length[some] <= enough) & (length[some] <= length[some[0]] * _LONGER)
            fits &= alike
        count = max(1, int(fits.sum()))  # all of these only grow, so those that fit come first
        yield some[:count]
        first += count
