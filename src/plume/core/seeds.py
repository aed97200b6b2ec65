"""Random numbers that depend on (seed, epoch, index) and nothing else.

A counter-based generator (SplitMix64, Steele et al. 2014) gives row i of a batch the same draws whatever the batch, the number of
workers or the padded length, and draws a whole batch in a few numpy calls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        value = (value ^ (value >> np.uint64(30))) * _FIRST
        value = (value ^ (value >> np.uint64(27))) * _SECOND
        return value ^ (value >> np.uint64(31))


class Draws:
    """A stream of uniform numbers for each row of a batch.

    >>> one = Draws(seed=1, epoch=0, index=np.array([7, 8])).uniform(3)
    >>> bool((one[1] == Draws(seed=1, epoch=0, index=np.array([8])).uniform(5)[0, :3]).all())
    True
    """

    def __init__(self, *, seed: int, epoch: int, index: NDArray[np.int64]) -> None:
        with np.errstate(over="ignore"):
            key = _mix(np.full(1, seed % 2**64, np.uint64) + _GOLDEN)
            key = _mix(key + np.uint64(epoch + 1) * _GOLDEN)
            self._key = _mix(key + (index.astype(np.uint64) + np.uint64(1)) * _GOLDEN)  # [B]
        self._stream = 0

    def __len__(self) -> int:
        return len(self._key)

    def uniform(self, count: int) -> NDArray[np.float64]:
        """[B, count] numbers in [0, 1); each call opens a new stream."""
        self._stream += 1
        with np.errstate(over="ignore"):
            row = _mix(self._key + np.uint64(self._stream) * _SECOND)
            bits = _mix(row[:, None] + np.arange(1, count + 1, dtype=np.uint64)[None, :] * _GOLDEN)
        return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, high: int | NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """[B, count] whole numbers in [0, high); `high` may differ by row ([B, 1])."""
        return (self.uniform(count) * high).astype(np.int64)
