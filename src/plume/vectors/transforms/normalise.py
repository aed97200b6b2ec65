"""Every vector gets length one, so that a dot product is the cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.vectors.transform import Floats, Transform


@dataclass(frozen=True, kw_only=True)
class Normalise(Transform):
    """Divide by the Euclidean length; a vector of zeros stays.

    >>> Normalise().apply(np.array([[3, 4]], np.float32)).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """

    def _applied(self, rows: Floats) -> NDArray[Any]:
        length = np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64))
        return rows / np.where(length > 0, length, 1).astype(np.float32)[:, None]
