"""The first principal components, not scaled: a dimension cut that keeps what most of the variance lies in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.vectors.moments import Moments, few
from plume.vectors.transforms._projection import Projection


@dataclass(frozen=True, kw_only=True)
class PrincipalComponents(Projection):
    """(x − mean) · U, the first `dimensions` columns: the way to fewer dimensions for vectors that were trained by contrast."""

    def matrix(self, moments: Moments) -> NDArray[np.float64]:
        return moments.components(self.dimensions)[1]

    def advice(self, sentences: int, width: int) -> Iterable[str]:
        return few("PCA", sentences, width)
