"""Select: which tokens the objective is about."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.core.seeds import Draws
from plume.noise.rows import Rows
from plume.noise.words import Flags, Unit, WordUnits


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The selected tokens, and where each selected unit (token, word, span, sentence) begins."""

    tokens: Flags
    start: Flags
    inserted: NDArray[np.int64] | None = None  # [B, T] empty spans that stand before each token (BART)

    @classmethod
    def singly(cls, tokens: Flags) -> Chosen:
        """Every token a unit of its own."""
        return cls(tokens=tokens, start=tokens)

    @classmethod
    def runs(cls, tokens: Flags) -> Chosen:
        """Every unbroken run of tokens a unit."""
        start = tokens.copy()
        start[:, 1:] &= ~tokens[:, :-1]
        return cls(tokens=tokens, start=start)


class Rounding(enum.StrEnum):
    """How rate × length becomes a whole number: to the nearest (BERT), or up with the remainder as probability (RoBERTa)."""

    NEAREST = "nearest"
    PROBABILISTIC = "probabilistic"


@dataclass(frozen=True, kw_only=True)
class Select(Part):
    """Which tokens an objective is about."""

    needs_sentences: ClassVar[bool] = False
    needs_spelling: ClassVar[bool] = False

    @property
    def needs_units(self) -> bool:
        """Does it select phrases or entities?"""
        return False

    @property
    def needs_salient(self) -> bool:
        """Does it select names and dates?"""
        return False

    @property
    def share(self) -> float:
        """Of the tokens, about so many are selected."""
        return 0.0

    @property
    def closing(self) -> bool:
        """May the special token that closes a row be selected too?"""
        return False

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Nothing(Select):
    """Every token keeps its place; the target is elsewhere (GPT)."""

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        return Chosen.singly(np.zeros(rows.tokens.shape, bool))


@dataclass(frozen=True, kw_only=True)
class Rate(Select):
    """A share of the row's length, special tokens counted in, at least one (create_pretraining_data.py of BERT)."""

    rate: float = 0.15
    rounding: Rounding = Rounding.NEAREST

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise PlumeError(f"A rate of {self.rate} is not a share of the tokens: give a number above 0 and up to 1.")

    @property
    def share(self) -> float:
        return self.rate

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
            return Chosen.singly(chosen)
        score = np.where(rows.special, 2.0, draws.uniform(width))
        first = np.argsort(score, axis=1)
        chosen[np.broadcast_to(row, first.shape), first] = np.arange(width) < count[:, None]
        return Chosen.singly(chosen)


@dataclass(frozen=True, kw_only=True)
class NGrams(Rate):
    """Runs of 1 to `longest` whole words, length n with probability proportional to 1/n, cut where the budget ends (ALBERT §4.1).

    With `longest` = 1 these are whole words, and a word that would exceed the budget is passed over (BERT's whole-word masking);
    with `unit` they are the phrases or entities of a lexicon, and words elsewhere (ERNIE of Baidu, arXiv:1904.09223 §3.2).
    """

    longest: int = 3
    unit: Unit = Unit.WORD

    @property
    def needs_units(self) -> bool:
        return self.unit is not Unit.WORD

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        words = WordUnits(rows, self.unit)
        order = words.shuffled(draws)
        budget = self.budget(rows, draws)
        weight = np.cumsum(1.0 / np.arange(1, self.longest + 1))
        n_draw = draws.uniform(order.shape[1])
        used = np.zeros(len(budget), np.int64)
        row = np.arange(len(budget))
        for turn in range(order.shape[1]):
            word = order[:, turn]
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
        tokens, first = (np.take_along_axis(flags, words.word_of, axis=1) for flags in (words.taken, words.first))
        return Chosen(tokens=tokens, start=first & words.begins)


def WholeWords(*, rate: float = 0.15) -> NGrams:
    """BERT's and the Chinese models' whole-word masking: n-grams of one word."""
    return NGrams(rate=rate, longest=1)
