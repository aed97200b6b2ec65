"""The four choices put together."""

from __future__ import annotations

from dataclasses import dataclass

from plume.core.batch import Order
from plume.core.part import Part
from plume.core.seeds import Draws
from plume.noise.corrupt import Corrupt, Keep
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Nothing, Select
from plume.noise.target import Aim, InPlace, TargetRule


@dataclass(frozen=True, kw_only=True)
class Noise(Part):
    """A pure function of (rows, draws): the same row and draws give the same example in any batch.

    >>> import numpy as np
    >>> from plume.noise.target import NextToken
    >>> rows = Rows(tokens=np.array([[5, 6, 7]]), length=np.array([3]), special=np.zeros((1, 3), bool), word_start=np.ones((1, 3), bool))
    >>> aim = Noise(target=NextToken(), order=Order.CAUSAL)(rows, Draws(seed=0, epoch=0, index=np.array([0])), Alphabet(size=9, mask=None))
    >>> aim.shown.tolist(), aim.what.tolist()
    ([[5, 6]], [[6, 7]])
    """

    select: Select = Nothing()
    corrupt: Corrupt = Keep()
    target: TargetRule = InPlace()
    order: Order = Order.FULL

    def __call__(self, rows: Rows, draws: Draws, alphabet: Alphabet) -> Aim:
        chosen = self.select(rows, draws)
        return self.target(rows, chosen, self.corrupt(rows, chosen, draws, alphabet))
