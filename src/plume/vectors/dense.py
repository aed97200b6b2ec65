"""A dense layer that was trained together with the model below it: SimBERT's pooler, and what sentence-transformers calls Dense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.vectors.transform import Affine, Floats, Transform, VectorRows


@dataclass(frozen=True, kw_only=True)
class Dense(Transform):
    """rows @ weight + bias, with a tanh or without. Its arrays come from training, not from `fit`.

    >>> layer = Dense().with_arrays({"weight": np.eye(2), "bias": np.ones(2)})
    >>> layer.apply(np.zeros((1, 2), np.float32)).tolist()
    [[1.0, 1.0]]
    """

    learns: ClassVar[tuple[str, ...]] = ("weight", "bias")
    tanh: bool = False

    def width(self, before: int) -> int:
        return int(self.arrays["weight"].shape[1]) if self.arrays else before

    def linear(self, width: int) -> Affine | None:
        return None if self.tanh else Affine(weight=self.arrays["weight"], bias=self.arrays["bias"])

    def _learned(self, rows: VectorRows) -> dict[str, NDArray[Any]]:
        if not self.arrays:
            raise PlumeError("A dense layer is trained with its model: it cannot be fitted to vectors.")
        return dict(self.arrays)

    def _applied(self, rows: Floats) -> NDArray[Any]:
        made = rows @ self.arrays["weight"] + self.arrays["bias"]
        return np.tanh(made) if self.tanh else made
