"""What projections onto the main directions share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.vectors.moments import Moments
from plume.vectors.transform import Affine, Floats, Transform, VectorRows


@dataclass(frozen=True, kw_only=True)
class Projection(Transform):
    """Centred, then times a matrix that follows from mean and covariance."""

    learns: ClassVar[tuple[str, ...]] = ("mean", "matrix")
    dimensions: int | None = None  # None: all that the vectors have

    def __post_init__(self) -> None:
        if self.dimensions is not None and self.dimensions < 1:
            raise PlumeError(f"Vectors cannot have {self.dimensions} dimensions.")

    def matrix(self, moments: Moments) -> NDArray[np.float64]:
        """[D, K]"""
        raise NotImplementedError

    def width(self, before: int) -> int:
        if self.arrays:
            return int(self.arrays["matrix"].shape[1])
        return min(before, self.dimensions or before)

    def linear(self, width: int) -> Affine:
        mean, matrix = self.arrays["mean"], self.arrays["matrix"]
        return Affine(weight=matrix, bias=-mean @ matrix)

    def _learned(self, rows: VectorRows) -> dict[str, NDArray[Any]]:
        if self.dimensions is not None and self.dimensions > rows.width:
            raise PlumeError(f"Vectors of {rows.width} dimensions cannot be reduced to {self.dimensions}.")
        moments = Moments.of(rows)
        return {"mean": moments.mean, "matrix": self.matrix(moments)}

    def _applied(self, rows: Floats) -> NDArray[Any]:
        return (rows - self.arrays["mean"]) @ self.arrays["matrix"]
