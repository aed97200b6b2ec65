"""Select: one salient span, a name or a date: what cannot be known from the sentence alone (REALM, arXiv:2002.08909 §3.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.rows import Rows
from plume.noise.select import Chosen, Select
from plume.noise.words import Flags, WordUnits

SALIENT = "salient"  # in `Store.units` and `Rows.units`: where a span begins, or a word elsewhere
IN_SALIENT = "in_salient"  # the tokens of spans


@dataclass(frozen=True, kw_only=True)
class SalientSpan(Select):
    """One span of at most `longest` tokens a row; a row without one loses a word."""

    longest: int = 10

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise PlumeError(f"SalientSpan(longest={self.longest}): a span holds at least 1 token.")

    @property
    def needs_salient(self) -> bool:
        return True

    @property
    def share(self) -> float:
        """A name has two or three tokens of a sentence's thirty."""
        return 0.1

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        begins = rows.units.get(SALIENT, rows.word_start)
        inside = rows.units.get(IN_SALIENT, np.zeros(rows.tokens.shape, bool)) & ~rows.special
        units = _Units(rows, begins)
        salient = units.flagged(inside) & (units.length <= self.longest)
        score = draws.uniform(units.usable.shape[1])
        score = np.where(units.usable, score + np.where(salient, 0.0, 1.0), 3.0)
        unit = np.argmin(score, axis=1)
        row = np.flatnonzero(units.usable.any(1))
        units.take(row, unit[row], np.ones(len(row), np.int64))
        tokens, first = (np.take_along_axis(flags, units.word_of, axis=1) for flags in (units.taken, units.first))
        tokens &= _first_tokens(tokens, self.longest)
        return Chosen(tokens=tokens, start=first & units.begins)


class _Units(WordUnits):
    """Of these beginnings, whatever they are."""

    def __init__(self, rows: Rows, begins: Flags) -> None:
        super().__init__(rows, starts=begins)
        self.length = np.diff(self.end, axis=1)

    def flagged(self, tokens: Flags) -> Flags:
        """[B, W] units whose tokens are among these."""
        found = np.zeros(self.usable.shape, bool)
        row, column = np.nonzero(tokens)
        found[row, self.word_of[row, column]] = True
        return found


def _first_tokens(tokens: Flags, count: int) -> Flags:
    """Of each row, the first so many that are selected."""
    return np.asarray(np.cumsum(tokens, axis=1) <= count)
