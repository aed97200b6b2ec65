"""How the words of a sentence are weighted: all alike, or by smooth inverse frequency (Arora, Liang, Ma 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError

if TYPE_CHECKING:
    from plume.static.vectors import WordVectors


class Weighting(Protocol):
    """How a sentence's words become its vector."""

    def weights(self, counts: NDArray[np.int64] | None, words: int) -> NDArray[np.float64]:
        """[V + 1]: a weight for each word of the vocabulary, and one for words never seen."""
        ...

    def finish(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is done to the sentences' vectors [N, D] at the end."""
        ...


@dataclass(frozen=True, kw_only=True)
class Mean:
    """Every word counts alike."""

    def weights(self, counts: NDArray[np.int64] | None, words: int) -> NDArray[np.float64]:
        """All words weigh the same."""
        return np.ones(words + 1)

    def finish(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """As they are."""
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class SIF:
    """Weights a / (a + p(w)), then the first principal component taken out of every sentence (algorithm 1 of the paper).

    The component is that of the sentences given, unless one is kept. Vectors to be compared with each other must share it: for a search
    take it once from a sample, `sif = SIF().fitted(vectors, sample)`.
    """

    smoothing: float = 1e-3  # a; the paper finds 1e-3 to 1e-4 best
    component: NDArray[np.float64] | None = None  # [D], of length one

    def weights(self, counts: NDArray[np.int64] | None, words: int) -> NDArray[np.float64]:
        """The rarer a word, the more it weighs: a / (a + its share of the text)."""
        if counts is None or not counts.any():
            raise PlumeError(
                "SIF weighs words by how frequent they are, and these vectors came without counts: "
                "load a plume run or a fastText .bin, or use the plain mean."
            )
        frequency = np.append(counts, 0) / counts.sum()
        return self.smoothing / (self.smoothing + frequency)

    def finish(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Without the direction that all sentences have in common."""
        component = principal_component(rows) if self.component is None else self.component
        return rows - np.outer(rows @ component, component)

    def fitted(self, vectors: WordVectors, sample: Sequence[Sequence[str]]) -> SIF:
        """The same with the component of a sample of sentences kept."""
        nothing = np.zeros(vectors.dimension)  # a component that takes nothing away
        rows = vectors.sentence_vectors(sample, weighting=replace(self, component=nothing))
        return replace(self, component=principal_component(rows.astype(np.float64)))


def principal_component(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first right singular vector [D] of the rows, not centred, as the authors' code does; its sign is of no consequence."""
    if np.count_nonzero(rows.any(1)) < 2:
        raise PlumeError(
            "SIF takes out what the sentences have in common, which needs at least two with known words; "
            "give more at once, or keep the component of a sample: SIF().fitted(vectors, sample)."
        )
    return np.linalg.eigh(rows.T @ rows)[1][:, -1]
