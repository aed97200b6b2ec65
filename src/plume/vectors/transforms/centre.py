"""Without the mean of the vectors it was fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.vectors.transform import Affine, Floats, Transform, VectorRows


@dataclass(frozen=True, kw_only=True)
class Centre(Transform):
    """Moves the vectors so that their mean is 0."""

    learns: ClassVar[tuple[str, ...]] = ("mean",)

    def _learned(self, rows: VectorRows) -> dict[str, NDArray[Any]]:
        total = np.zeros(rows.width)
        for piece in rows.pieces():
            total += piece.sum(0, dtype=np.float64)
        return {"mean": total / len(rows)}

    def linear(self, width: int) -> Affine:
        return Affine(weight=np.eye(width), bias=-self.arrays["mean"])

    def _applied(self, rows: Floats) -> NDArray[Any]:
        return rows - self.arrays["mean"]
