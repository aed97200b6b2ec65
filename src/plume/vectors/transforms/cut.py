"""The first dimensions only: for vectors whose first dimensions were made to matter most (Matryoshka, arXiv:2205.13147)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.vectors.transform import Affine, Floats, Transform


@dataclass(frozen=True, kw_only=True)
class Cut(Transform):
    """Keep `dimensions` of each vector; they are not normalised again, put Normalise behind it."""

    dimensions: int

    def __post_init__(self) -> None:
        if self.dimensions < 1:
            raise PlumeError(f"A vector cannot be cut to {self.dimensions} dimensions.")

    def width(self, before: int) -> int:
        if self.dimensions > before:
            raise PlumeError(f"Vectors of {before} dimensions cannot be cut to {self.dimensions}.")
        return self.dimensions

    def linear(self, width: int) -> Affine:
        return Affine(weight=np.eye(width, self.width(width)), bias=np.zeros(self.dimensions))

    def _applied(self, rows: Floats) -> NDArray[Any]:
        return rows[:, : self.width(rows.shape[1])]
