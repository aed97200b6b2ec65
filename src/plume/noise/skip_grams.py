"""UniLM's selection (arXiv:1905.03197 §2.5; microsoft/unilm, unilm-v1/src/biunilm: skipgram_prb, skipgram_size)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.rows import Rows
from plume.noise.select import Chosen, Rate


@dataclass(frozen=True, kw_only=True)
class SkipGrams(Rate):
    """Single tokens most of the time; with probability `several` a run of 2 … `longest` tokens instead, its length drawn evenly.

    A run ends before a special token, and goes on over tokens that are selected already. The last run loses what exceeds the budget; the
    original drops random tokens of all of them instead. With `closing` the special token that ends the row may be selected too: a model that
    writes must learn where to stop.

    >>> rows = Rows(tokens=np.arange(6)[None], length=np.array([6]), special=np.arange(6)[None] % 5 == 0, word_start=np.ones((1, 6), bool))
    >>> chosen = SkipGrams(rate=1.0, closing=True)(rows, Draws(seed=0, epoch=0, index=np.array([0])))
    >>> np.flatnonzero(chosen.tokens).tolist()
    [1, 2, 3, 4, 5]
    """

    several: float = 0.2
    longest: int = 3
    closing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 <= self.several <= 1 and self.longest >= 2):
            raise PlumeError(f"SkipGrams(several={self.several}, longest={self.longest}): a probability, and runs of at least two tokens.")

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        batch, width = rows.tokens.shape
        row, place = np.arange(batch), np.arange(width)
        rows = rows.with_closing() if self.closing else rows
        barred = rows.special
        barrier = np.where(barred, place, width)
        run_end = np.minimum.accumulate(barrier[:, ::-1], axis=1)[:, ::-1]  # [B, T] the first special token from here on
        budget = self.budget(rows, draws)
        anchors = np.argsort(np.where(barred, 2.0, draws.uniform(width)), axis=1)
        lot, size_lot = draws.uniform(width), draws.uniform(width)
        size = np.where(lot < self.several, 2 + (size_lot * (self.longest - 1)).astype(np.int64), 1)
        tokens = np.zeros((batch, width), bool)
        start = np.zeros((batch, width), bool)
        left = budget
        for turn in range(width):
            if (left <= 0).all():
                break
            anchor = anchors[:, turn]
            good = (left > 0) & ~tokens[row, anchor] & ~barred[row, anchor]
            start[row[good], anchor[good]] = True
            end = np.where(good, np.minimum(anchor + size[:, turn], run_end[row, anchor]), 0)
            for step in range(int((end - anchor).max(initial=0))):
                here = np.minimum(anchor + step, width - 1)
                new = (anchor + step < end) & (left > 0) & ~tokens[row, here]
                tokens[row[new], here[new]] = True
                left = left - new
        return Chosen(tokens=tokens, start=start)
