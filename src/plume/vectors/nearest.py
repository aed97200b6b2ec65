"""The nearest vectors by their product, exactly: what retrieval asks while a model trains, and any small index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError

_CELLS = 1 << 24  # scores held at once: 64 MB
NOBODY = -1

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class NearestFound:
    """What a search found, best first; where there are too few vectors, index -1 at a score of minus infinity."""

    index: Numbers  # [Q, k]
    score: Floats  # [Q, k]


class Nearest:
    """Vectors, and the k of the largest product with a query. `group` says which of them belong together (the blocks of a document).

    Nothing is approximated or built: a search is one matrix product, a slice at a time. At 100,000 vectors of width 128 that is some
    milliseconds a query; of equal scores the lower number comes first.

    >>> found = Nearest(np.eye(3)).search(np.array([[0.1, 0.9, 0.5]]), 2)
    >>> found.index.tolist(), Nearest(np.eye(3)).search(np.array([[0.1, 0.9, 0.5]]), 2, exclude=np.array([1])).index.tolist()
    ([[1, 2]], [[2, 0]])
    """

    def __init__(self, vectors: NDArray[np.floating], *, group: Numbers | None = None) -> None:
        self.vectors = np.asarray(vectors, np.float32)
        if self.vectors.ndim != 2:
            raise PlumeError(f"Vectors are rows of one matrix, not an array of {self.vectors.ndim} dimensions.")
        self.group = np.arange(len(self.vectors), dtype=np.int64) if group is None else np.asarray(group, np.int64)

    def __len__(self) -> int:
        return len(self.vectors)

    def search(self, queries: NDArray[np.floating], k: int, *, exclude: Numbers | None = None) -> NearestFound:
        """The `k` best of each query. `exclude` is [Q] or [Q, E]: groups that a query must not find (-1: none)."""
        asked = np.asarray(queries, np.float32)
        left_out = np.full((len(asked), 0), NOBODY) if exclude is None else np.asarray(exclude, np.int64).reshape(len(asked), -1)
        index = np.full((len(asked), k), NOBODY, np.int64)
        score = np.full((len(asked), k), -np.inf, np.float32)
        size = max(k, _CELLS // max(len(asked), 1))
        for first in range(0, len(self.vectors), size):
            some = slice(first, first + size)
            scores = asked @ self.vectors[some].T  # [Q, n]
            for column in range(left_out.shape[1]):
                scores[self.group[some][None] == left_out[:, column, None]] = -np.inf
            index, score = _better(index, score, first, scores)
        return NearestFound(index=np.where(np.isneginf(score), NOBODY, index), score=score)


def _better(index: Numbers, score: Floats, first: int, scores: Floats) -> tuple[Numbers, Floats]:
    """The best of what was found before and of a further slice; earlier numbers win among equals, as the sort is stable."""
    k, width = index.shape[1], scores.shape[1]
    if width > 4 * k > 0:  # most need not be sorted: only those that reach the k-th best, equals among them
        least = -np.partition(-scores, k - 1, axis=1)[:, k - 1]
        kept = np.flatnonzero((scores >= least[:, None]).any(0))
    else:
        kept = np.arange(width)
    numbers = np.concatenate([index, np.broadcast_to(first + kept, (len(index), len(kept)))], axis=1)
    found = np.concatenate([score, scores[:, kept]], axis=1)
    order = np.argsort(-found, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(numbers, order, axis=1), np.take_along_axis(found, order, axis=1)
