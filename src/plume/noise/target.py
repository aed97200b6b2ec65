"""Target: what must be predicted, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.part import Part
from plume.noise.rows import Rows


@dataclass(frozen=True, kw_only=True)
class Aim:
    """The network's input and the tokens asked for: `where` marks positions of `shown`, `what` holds the answers there."""

    shown: NDArray[np.int64]  # [B, T']
    length: NDArray[np.int64]  # [B]
    where: NDArray[np.bool_]  # [B, T']
    what: NDArray[np.int64]  # [B, T']


@dataclass(frozen=True, kw_only=True)
class TargetRule(Part):
    def __call__(self, rows: Rows, chosen: NDArray[np.bool_], shown: NDArray[np.int64]) -> Aim:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class InPlace(TargetRule):
    """The original token, at its own position (BERT)."""

    def __call__(self, rows: Rows, chosen: NDArray[np.bool_], shown: NDArray[np.int64]) -> Aim:
        return Aim(shown=shown, length=rows.length, where=chosen, what=rows.tokens)


@dataclass(frozen=True, kw_only=True)
class NextToken(TargetRule):
    """The token that follows (GPT): a row of T + 1 tokens gives T predictions."""

    def __call__(self, rows: Rows, chosen: NDArray[np.bool_], shown: NDArray[np.int64]) -> Aim:
        inside = np.arange(1, rows.tokens.shape[1]) < rows.length[:, None]
        return Aim(shown=shown[:, :-1], length=rows.length - 1, where=inside, what=rows.tokens[:, 1:])
