"""GLM's three ways to choose blanks (arXiv:2103.10360 §2.1; THUDM/GLM, blocklm_utils.py).

Blanks are placed among a row's ordinary tokens as if special ones were not there; one that would cross a special token (a document's end) becomes
two, where the original moves it to another document.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.rows import Rows
from plume.noise.select import Chosen, Select


@dataclass(frozen=True, kw_only=True)
class PoissonBlanks(Select):
    """Spans of 1 … `longest` tokens, their lengths Poisson, until `rate` of the row is reached; at least one token stands between two.

    The last span drawn is not cut, so a little more than the rate is selected.
    """

    rate: float = 0.15
    mean: float = 3.0
    longest: int = 39

    def __post_init__(self) -> None:
        if not (0 < self.rate < 1 and self.mean > 0 and self.longest >= 1):
            raise PlumeError(f"{self}: a rate between 0 and 1, a mean above 0, and a longest span of at least one token.")

    @property
    def share(self) -> float:
        return self.rate

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        room = (~rows.special).sum(1)[:, None]
        length, kept = self._lengths(rows, room, draws)
        # In a random order: the last drawn is longer than the others, being the one that reached the rate.
        order = np.argsort(np.where(kept, draws.uniform(length.shape[1]), 2.0), axis=1)
        length, kept = np.take_along_axis(length, order, axis=1), np.take_along_axis(kept, order, axis=1)
        count = kept.sum(1, keepdims=True)
        slack = room - length.sum(1, keepdims=True) - count + 1
        gap = np.sort(np.where(kept, (draws.uniform(length.shape[1]) * (slack + 1)).astype(np.int64), rows.tokens.shape[1]), axis=1)
        start = gap + np.cumsum(length + 1, axis=1) - (length + 1)
        row, span = np.nonzero(kept)
        return _blanks(rows, row, start[row, span], length[row, span])

    def _lengths(self, rows: Rows, room: NDArray[np.int64], draws: Draws) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """[B, N] lengths of the spans drawn, 0 where there is none."""
        budget = np.maximum((rows.length * self.rate).astype(np.int64), 1)[:, None]
        sizes = np.arange(1, self.longest + 1)
        odds = np.cumsum([math.exp(size * math.log(self.mean) - math.lgamma(size + 1)) for size in sizes])
        length = 1 + np.searchsorted(odds, draws.uniform(int(budget.max())) * odds[-1], side="right")
        before = np.cumsum(length, axis=1) - length
        length = np.minimum(length, room - before - np.arange(length.shape[1]))  # short rows: no more than there is, with the gaps
        kept = (before < budget) & (length > 0)
        return np.where(kept, length, 0), kept


@dataclass(frozen=True, kw_only=True)
class LongBlank(Select):
    """One span of `least` to all of the row's tokens, evenly (document level): at the row's end with probability `at_end`, else anywhere.

    The paper says 50% to 100% and a single span; that half of them reach the end is the code's gpt_infill_prob.
    """

    least: float = 0.5
    at_end: float = 0.5

    def __post_init__(self) -> None:
        if not (0 < self.least <= 1 and 0 <= self.at_end <= 1):
            raise PlumeError(f"LongBlank(least={self.least}, at_end={self.at_end}): a share above 0, and a probability.")

    @property
    def share(self) -> float:
        return (self.least + 1) / 2

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        room = (~rows.special).sum(1)
        lot = draws.uniform(3)
        least = np.minimum(np.maximum((room * self.least).astype(np.int64), 1), room)
        length = least + (lot[:, 0] * (room - least + 1)).astype(np.int64)
        anywhere = (lot[:, 1] * (room - length + 1)).astype(np.int64)
        return _blanks(rows, np.arange(len(room)), np.where(lot[:, 2] < self.at_end, room - length, anywhere), length)


@dataclass(frozen=True, kw_only=True)
class SentenceBlanks(Select):
    """Whole sentences in a random order until `rate` of the row is reached (sentence level); each is a blank of its own."""

    needs_sentences: ClassVar[bool] = True
    rate: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise PlumeError(f"A rate of {self.rate} is not a share of the tokens: give a number above 0 and up to 1.")

    @property
    def share(self) -> float:
        return self.rate

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        if rows.sentence is None:
            raise PlumeError("SentenceBlanks needs rows that know their sentences: choose a layout of whole sentences.")
        sentence = np.where(rows.special, -1, rows.sentence)
        batch, count = len(sentence), int(sentence.max(initial=0)) + 1
        row, here = np.nonzero(sentence >= 0)
        number = sentence[row, here]
        size = np.bincount(row * count + number, minlength=batch * count).reshape(batch, count)
        order = np.argsort(np.where(size > 0, draws.uniform(count), 2.0), axis=1)
        size = np.take_along_axis(size, order, axis=1)
        before = np.cumsum(size, axis=1) - size
        taken = np.zeros((batch, count), bool)
        budget = np.maximum((rows.length * self.rate).astype(np.int64), 1)
        np.put_along_axis(taken, order, (before < budget[:, None]) & (size > 0), axis=1)
        tokens = np.zeros(sentence.shape, bool)
        tokens[row, here] = taken[row, number]
        start = tokens.copy()
        start[:, 1:] &= sentence[:, 1:] != sentence[:, :-1]
        return Chosen(tokens=tokens, start=start)


def _blanks(rows: Rows, row: NDArray[np.int64], start: NDArray[np.int64], length: NDArray[np.int64]) -> Chosen:
    """Spans given by their place among the ordinary tokens of their rows; no two touch."""
    edge = np.zeros((len(rows.tokens), rows.tokens.shape[1] + 1), np.int64)
    np.add.at(edge, (row, start), 1)
    np.add.at(edge, (row, start + length), -1)
    number = np.cumsum(~rows.special, axis=1) - 1
    inside = np.take_along_axis(np.cumsum(edge, axis=1), np.maximum(number, 0), axis=1) > 0
    return Chosen.runs(inside & ~rows.special)
