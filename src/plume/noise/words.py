"""The units of each row (words, phrases, entities): where they lie, and which have been taken."""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.rows import Rows

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Unit(enum.StrEnum):
    """What is selected or left as a whole; a phrase or entity is one where the row has one, else a word is."""

    WORD = "word"
    PHRASE = "phrase"
    ENTITY = "entity"

    def starts(self, rows: Rows) -> Flags:
        """[B, T] where one begins."""
        if self is Unit.WORD:
            return rows.word_start
        if self.value not in rows.units:
            raise PlumeError(
                f"This recipe masks whole units of the kind '{self.value}', and the rows do not say where those are: give it a lexicon."
            )
        return rows.units[self.value]


class WordUnits:
    """A special token is a unit for itself that cannot be taken."""

    def __init__(self, rows: Rows, unit: Unit = Unit.WORD, *, starts: Flags | None = None) -> None:
        begins = (unit.starts(rows) if starts is None else starts) | rows.special
        begins[:, 0] = True
        begins[:, 1:] |= rows.special[:, :-1]
        self.word_of = np.cumsum(begins, axis=1) - 1  # [B, T]
        count = int(self.word_of.max()) + 1
        batch = len(rows.tokens)
        flat = (self.word_of + np.arange(batch)[:, None] * count).ravel()
        length = np.bincount(flat, minlength=batch * count).reshape(batch, count)
        special = np.bincount(flat, weights=rows.special.ravel(), minlength=batch * count).reshape(batch, count) > 0
        self.usable = (length > 0) & ~special  # [B, W]
        self.end = np.concatenate([np.zeros((batch, 1), np.int64), np.cumsum(length, axis=1)], axis=1)  # tokens before each word
        barrier = np.where(self.usable, count, np.arange(count))
        self.run_end = np.minimum.accumulate(barrier[:, ::-1], axis=1)[:, ::-1]  # first word after this that cannot be taken
        self.taken = np.zeros((batch, count + 1), bool)
        self.first = np.zeros((batch, count + 1), bool)  # words with which a taken unit begins
        self.begins = begins

    def shuffled(self, draws: Draws) -> Numbers:
        """[B, W] the words of each row in a random order, those that cannot be taken last."""
        return np.argsort(np.where(self.usable, draws.uniform(self.usable.shape[1]), 2.0), axis=1)

    def size(self, row: Numbers, word: Numbers, n: Numbers) -> Numbers:
        """How many tokens n words have."""
        return self.end[row, np.minimum(word + n, self.end.shape[1] - 1)] - self.end[row, word]

    def any_taken(self, row: Numbers, word: Numbers, n: Numbers) -> Flags:
        """[B] is one of these n words selected already?"""
        found = self.taken[row, word].copy()
        for step in range(1, int(n.max())):
            found |= (step < n) & self.taken[row, np.minimum(word + step, self.taken.shape[1] - 1)]
        return found

    def take(self, row: Numbers, word: Numbers, n: Numbers) -> None:
        """Select these n words, as one unit."""
        for step in range(int(n.max()) if len(n) else 0):
            self.taken[row[step < n], word[step < n] + step] = True
        self.first[row, word] = True
