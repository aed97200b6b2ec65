"""Without the direction that all sentences have in common, the second half of SIF (Arora, Liang, Ma 2017, algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.vectors.transform import Affine, Floats, Transform, VectorRows


@dataclass(frozen=True, kw_only=True)
class WithoutComponent(Transform):
    """Takes the first principal component out, that of the vectors it was fitted to: not centred, as the authors' code does."""

    learns: ClassVar[tuple[str, ...]] = ("component",)

    def _learned(self, rows: VectorRows) -> dict[str, NDArray[Any]]:
        products, told = np.zeros((rows.width, rows.width)), 0
        for piece in rows.pieces():
            wide = piece.astype(np.float64)
            products += wide.T @ wide
            told += int(np.count_nonzero(piece.any(1)))
        if told < 2:
            raise PlumeError(
                "SIF takes out what the sentences have in common, which needs at least two with known words: "
                "give more at once, or fit it once to many with 'plume sentences fit MODEL --sif --text FILE'."
            )
        return {"component": np.linalg.eigh(products)[1][:, -1]}  # its sign is of no consequence

    def linear(self, width: int) -> Affine:
        component = self.arrays["component"]
        return Affine(weight=np.eye(width) - np.outer(component, component), bias=np.zeros(width))

    def _applied(self, rows: Floats) -> NDArray[Any]:
        component = self.arrays["component"].astype(np.float64)
        return rows - np.outer(rows @ component, component)
