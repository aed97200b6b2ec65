"""Whitening with a dimension cut (BERT-whitening, arXiv:2103.15316)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.vectors.moments import Moments, few
from plume.vectors.transforms._projection import Projection


@dataclass(frozen=True, kw_only=True)
class Whiten(Projection):
    """(x − mean) · U · s^-½ from the covariance's eigenvectors U and eigenvalues s, the first `dimensions` of them.

    Helps models that were only pre-trained, fitted to text of the kind that is compared. Vectors that were trained by contrast lose by it:
    take `PrincipalComponents`.
    """

    def matrix(self, moments: Moments) -> NDArray[np.float64]:
        value, direction = moments.components(self.dimensions)
        return direction / np.sqrt(value)

    def advice(self, sentences: int, width: int) -> Iterable[str]:
        return few("Whitening", sentences, width)
