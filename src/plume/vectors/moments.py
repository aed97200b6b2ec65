"""Mean and covariance of vectors that need not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.vectors.transform import VectorRows

_SMALLEST = 1e-6  # of the largest eigenvalue; below it is rounding noise
ENOUGH = 10  # sentences a dimension, for a covariance to be relied on


@dataclass(frozen=True, kw_only=True)
class Moments:
    """What a covariance needs, gathered piece by piece (Chan, Golub, LeVeque 1979)."""

    count: int
    mean: NDArray[np.float64]  # [D]
    scatter: NDArray[np.float64]  # [D, D] sum of products of what is left without the mean

    @classmethod
    def of(cls, rows: VectorRows) -> Moments:
        """Of all rows, in one pass."""
        count, mean, scatter = 0, np.zeros(rows.width), np.zeros((rows.width, rows.width))
        for piece in rows.pieces():
            wide = piece.astype(np.float64)
            own = wide.mean(0)
            wide -= own
            apart, total = own - mean, count + len(wide)
            scatter += wide.T @ wide + np.outer(apart, apart) * (count * len(wide) / total)
            mean += apart * (len(wide) / total)
            count = total
        return cls(count=count, mean=mean, scatter=scatter)

    def components(self, dimensions: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[K] the largest eigenvalues of the covariance, [D, K] their directions; never those that are rounding noise.

        The mean over tokens of a post-norm layer lies in a hyperplane: one eigenvalue is 0, and scaling it up would be scaling noise.
        """
        if self.count < 2:
            raise PlumeError("A covariance needs at least two vectors.")
        value, direction = np.linalg.eigh(self.scatter / (self.count - 1))
        value, direction = value[::-1], direction[:, ::-1]
        if value[0] <= 0:
            raise PlumeError("All vectors are the same: there is nothing to fit. Give different texts.")
        kept = int((value > _SMALLEST * value[0]).sum())
        kept = kept if dimensions is None else min(kept, dimensions)
        return value[:kept], direction[:, :kept]


def few(name: str, sentences: int, width: int) -> list[str]:
    """A sentence where there are fewer vectors than a covariance of this width needs."""
    if sentences >= ENOUGH * width:
        return []
    return [
        f"{name} is fitted to {sentences:,} sentences of {width} dimensions: below {ENOUGH} a dimension ({ENOUGH * width:,}) it fits their noise. "
        "Give more text of the kind that will be compared."
    ]
