"""Select: which tokens the objective is about."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.core.seeds import Draws
from plume.noise.rows import Rows

Chosen = NDArray[np.bool_]  # [B, T]


class Rounding(enum.StrEnum):
    """How rate × length becomes a whole number: to the nearest (BERT), or up with the remainder as probability (RoBERTa)."""

    NEAREST = "nearest"
    PROBABILISTIC = "probabilistic"


@dataclass(frozen=True, kw_only=True)
class Select(Part):
    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Nothing(Select):
    """Every token keeps its place; the target is elsewhere (GPT)."""

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        return np.zeros(rows.tokens.shape, bool)


@dataclass(frozen=True, kw_only=True)
class Rate(Select):
    """A share of the row's length, special tokens counted in, at least one (create_pretraining_data.py of BERT)."""

    rate: float = 0.15
    rounding: Rounding = Rounding.NEAREST

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise PlumeError(f"A rate of {self.rate} is not a share of the tokens: give a number above 0 and up to 1.")

    def budget(self, rows: Rows, draws: Draws) -> NDArray[np.int64]:
        """[B] how many tokens to select."""
        wanted = rows.length * self.rate
        if self.rounding is Rounding.PROBABILISTIC:
            count = np.floor(wanted + draws.uniform(1)[:, 0])
        else:
            count = np.rint(wanted)
        return np.minimum(np.maximum(count.astype(np.int64), 1), (~rows.special).sum(1))


@dataclass(frozen=True, kw_only=True)
class Tokens(Rate):
    """Single tokens, without replacement; with it, as ELECTRA draws, the distinct ones are fewer."""

    replacement: bool = False

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        count = self.budget(rows, draws)
        width = rows.tokens.shape[1]
        row = np.arange(len(count))[:, None]
        chosen = np.zeros(rows.tokens.shape, bool)
        if self.replacement:
            candidates = np.argsort(rows.special, axis=1, kind="stable")  # the ordinary tokens come first
            open_places = (~rows.special).sum(1)[:, None]
            place = draws.integers(open_places, max(int(count.max()), 1))
            drawn = np.arange(place.shape[1]) < count[:, None]
            np.logical_or.at(chosen, (np.broadcast_to(row, place.shape)[drawn], candidates[row, place][drawn]), True)
            return chosen
        score = np.where(rows.special, 2.0, draws.uniform(width))
        first = np.argsort(score, axis=1)
        chosen[np.broadcast_to(row, first.shape), first] = np.arange(width) < count[:, None]
        return chosen


@dataclass(frozen=True, kw_only=True)
class NGrams(Rate):
    """Runs of 1 to `longest` whole words, length n with probability proportional to 1/n, cut where the budget ends (ALBERT §4.1).

    With `longest` = 1 these are whole words, and a word that would exceed the budget is passed over (BERT's whole-word masking).
    """

    longest: int = 3

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        words = _Words(rows, draws)
        budget = self.budget(rows, draws)
        weight = np.cumsum(1.0 / np.arange(1, self.longest + 1))
        n_draw = draws.uniform(words.order.shape[1])
        used = np.zeros(len(budget), np.int64)
        row = np.arange(len(budget))
        for turn in range(words.order.shape[1]):
            word = words.order[:, turn]
            open_rows = words.usable[row, word] & (used < budget)
            if not open_rows.any():
                break
            available = np.minimum(words.run_end[row, word] - word, self.longest)  # words until a special token
            n = 1 + (n_draw[:, turn, None] * weight[np.maximum(available - 1, 0)][:, None] >= weight[None, :]).sum(1)
            n = np.minimum(n, np.maximum(available, 1))
            for shorter in range(self.longest - 1, 0, -1):  # over the budget: shrink
                n = np.where((n > shorter) & (used + words.size(row, word, n) > budget), shorter, n)
            fits = open_rows & (used + words.size(row, word, n) <= budget) & ~words.any_taken(row, word, n)
            used += np.where(fits, words.size(row, word, n), 0)
            words.take(row[fits], word[fits], n[fits])
        return words.tokens_taken()


def WholeWords(*, rate: float = 0.15) -> NGrams:
    """BERT's and the Chinese models' whole-word masking: n-grams of one word."""
    return NGrams(rate=rate, longest=1)


class _Words:
    """The words of each row, in a random order, with what has been taken of them."""

    def __init__(self, rows: Rows, draws: Draws) -> None:
        begins = rows.word_start | rows.special
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
        self.order = np.argsort(np.where(self.usable, draws.uniform(count), 2.0), axis=1)
        self.taken = np.zeros((batch, count + 1), bool)

    def size(self, row: NDArray[np.int64], word: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.end[row, np.minimum(word + n, self.end.shape[1] - 1)] - self.end[row, word]

    def any_taken(self, row: NDArray[np.int64], word: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = self.taken[row, word].copy()
        for step in range(1, int(n.max())):
            found |= (step < n) & self.taken[row, np.minimum(word + step, self.taken.shape[1] - 1)]
        return found

    def take(self, row: NDArray[np.int64], word: NDArray[np.int64], n: NDArray[np.int64]) -> None:
        for step in range(int(n.max()) if len(n) else 0):
            self.taken[row[step < n], word[step < n] + step] = True

    def tokens_taken(self) -> Chosen:
        return np.take_along_axis(self.taken, self.word_of, axis=1)
