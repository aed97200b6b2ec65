"""How the words of a sentence are weighted: all alike, or by smooth inverse frequency (Arora, Liang, Ma 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part


@dataclass(frozen=True, kw_only=True)
class Weighting(Part):
    """How much each word of a sentence counts."""

    def weights(self, counts: NDArray[np.int64] | None, words: int) -> NDArray[np.float64]:
        """[V + 1]: a weight for each word of the vocabulary, and one for words never seen."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Mean(Weighting):
    """Every word counts alike."""

    def weights(self, counts: NDArray[np.int64] | None, words: int) -> NDArray[np.float64]:
        return np.ones(words + 1)


@dataclass(frozen=True, kw_only=True)
class SIF(Weighting):
    """a / (a + p(w)): the rarer a word, the more it counts. The paper then takes the sentences' first principal component out of them:
    `plume.vectors.transforms.without_component`."""

    smoothing: float = 1e-3  # a; the paper finds 1e-3 to 1e-4 best

    def weights(self, counts: NDArray[np.int64] | None, words: int) -> NDArray[np.float64]:
        if counts is None or not counts.any():
            raise PlumeError(
                "SIF weighs words by how frequent they are, and these vectors came without counts: "
                "load a plume run or a fastText .bin, or use the plain mean."
            )
        frequency = np.append(counts, 0) / counts.sum()
        return self.smoothing / (self.smoothing + frequency)
