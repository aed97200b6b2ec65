"""SpanBERT's selection (arXiv:1907.10529 §3.1; facebookresearch/SpanBERT, data/masking.py)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.rows import Rows
from plume.noise.select import Chosen, Select
from plume.noise.words import WordUnits


@dataclass(frozen=True, kw_only=True)
class GeometricSpans(Select):
    """Spans of whole words, their lengths geometric, cut to 1 … `longest` and normalised again: 3.8 words in the mean.

    A span begins with the word of a token drawn evenly from those not yet selected. As in the authors' code the budget is counted in the
    row's ordinary tokens, rounded up and met exactly, so that the last span may end inside a word; spans that touch become one.
    """

    rate: float = 0.15
    p: float = 0.2
    longest: int = 10

    def __post_init__(self) -> None:
        if not (0 < self.rate <= 1 and 0 < self.p < 1 and self.longest >= 1):
            raise PlumeError(f"{self}: a rate above 0 and up to 1, a p between them, and a longest span of at least one word.")

    @property
    def share(self) -> float:
        return self.rate

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        words = WordUnits(rows)
        batch, width = rows.tokens.shape
        anchors = np.argsort(np.where(rows.special, 2.0, draws.uniform(width)), axis=1)
        odds = np.cumsum((1 - self.p) ** np.arange(self.longest))
        n = 1 + np.searchsorted(odds, draws.uniform(width) * odds[-1], side="right")
        budget = np.ceil((~rows.special).sum(1) * self.rate - 1e-9).astype(np.int64)
        used = np.zeros(batch, np.int64)
        tokens = np.zeros((batch, width), bool)
        row, place = np.arange(batch), np.arange(width)
        for turn in range(width):
            if (used >= budget).all():
                break
            anchor = anchors[:, turn]
            word = words.word_of[row, anchor]
            last = np.minimum(word + n[:, turn], words.run_end[row, word])
            begin, end = words.end[row, word], words.end[row, last]
            end = np.where(tokens[row, anchor] | rows.special[row, anchor], begin, end)  # an anchor that is covered gives no span
            new = (place >= begin[:, None]) & (place < end[:, None]) & ~tokens
            left = (budget - used)[:, None]
            if (new.sum(1) > left[:, 0]).any():
                new &= np.cumsum(new, axis=1) <= left
            tokens |= new
            used += new.sum(1)
        return Chosen.runs(tokens)
