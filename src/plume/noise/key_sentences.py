"""Select: the sentences that say most of the rest (PEGASUS' gap sentences)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.padded import Ids
from plume.noise.rearrange import sentences_of
from plume.noise.rows import Rows
from plume.noise.select import Chosen, Select
from plume.noise.spelling import Unigrams, unigrams

Scores = NDArray[np.float64]  # [B, S]
_SPREAD = np.uint64(0xBF58476D1CE4E5B9)  # keeps equal words of two rows apart


class Principal(enum.StrEnum):
    """How sentences are ranked (PEGASUS §3.1): by ROUGE-1 F1 with the rest of the text, each alone or one after the other together with
    those already chosen; repeated words counted each time or once; or by chance; or the first ones."""

    INDEPENDENT_ORIGINAL = "independent_original"
    INDEPENDENT_UNIQUE = "independent_unique"
    SEQUENTIAL_ORIGINAL = "sequential_original"
    SEQUENTIAL_UNIQUE = "sequential_unique"
    RANDOM = "random"
    LEAD = "lead"

    @property
    def unique(self) -> bool:
        """Are repeated words counted once?"""
        return self in (Principal.INDEPENDENT_UNIQUE, Principal.SEQUENTIAL_UNIQUE)

    @property
    def sequential(self) -> bool:
        """Is each sentence ranked together with those already chosen?"""
        return self in (Principal.SEQUENTIAL_ORIGINAL, Principal.SEQUENTIAL_UNIQUE)


@dataclass(frozen=True, kw_only=True)
class KeySentences(Select):
    """`ratio` of the row's sentences, rounded down, at least one and never all; a row of one sentence keeps it (sentence_selection.cc).

    With `lowest` each row draws its ratio between the two, and `noise` multiplies each score by 1 ± noise: PEGASUS large is
    KeySentences(ratio=0.45, lowest=0.15, noise=0.2). The authors leave out English stop words; here every word counts, in any language.
    Their code draws a normal noise from a generator seeded anew for each text; this is the uniform noise that their README names.
    """

    needs_sentences: ClassVar[bool] = True
    needs_spelling: ClassVar[bool] = True
    ratio: float = 0.3
    how: Principal = Principal.INDEPENDENT_ORIGINAL
    lowest: float | None = None
    noise: float = 0.0

    def __post_init__(self) -> None:
        low = self.ratio if self.lowest is None else self.lowest
        if not 0 < low <= self.ratio < 1:
            raise PlumeError(f"KeySentences(ratio={self.ratio}, lowest={self.lowest}): shares above 0 and below 1, the lowest not above.")
        if not 0 <= self.noise <= 1:
            raise PlumeError(f"KeySentences(noise={self.noise}): give a share from 0 to 1.")

    @property
    def share(self) -> float:
        return self.ratio if self.lowest is None else (self.lowest + self.ratio) / 2

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        sentence = np.where(rows.special, -1, sentences_of(rows))
        width = int(sentence.max(initial=0)) + 1
        there = np.zeros((len(sentence), width), bool)
        row, place = np.nonzero(sentence >= 0)
        there[row, sentence[row, place]] = True
        count = self._count(there.sum(1), draws)
        scatter = 1 + self.noise * (2 * draws.uniform(width) - 1)
        if self.how is Principal.RANDOM:
            picked = _best(draws.uniform(width), there, count)
        elif self.how is Principal.LEAD:
            picked = _best(-np.broadcast_to(np.arange(width, dtype=float), there.shape), there, count)
        else:
            words = unigrams(rows, rows.spelling)
            rouge = Rouge(words, sentence, there.shape, unique=self.how.unique)
            picked = _in_turn(rouge, scatter, there, count) if self.how.sequential else _best(rouge.scores() * scatter, there, count)
        tokens = (sentence >= 0) & np.take_along_axis(picked, np.maximum(sentence, 0), axis=1)
        start = tokens.copy()
        start[:, 1:] &= sentence[:, 1:] != sentence[:, :-1]
        return Chosen(tokens=tokens, start=start)

    def _count(self, sentences: Ids, draws: Draws) -> Ids:
        low = self.ratio if self.lowest is None else self.lowest
        ratio = low + (self.ratio - low) * draws.uniform(1)[:, 0]
        wanted = np.maximum(np.floor(sentences * ratio + 1e-9).astype(np.int64), 1)
        return np.minimum(wanted, np.maximum(sentences - 1, 0))


class Rouge:
    """ROUGE-1 F1 of sentences against the rest of their row, kept up to date while sentences are chosen."""

    def __init__(self, words: Unigrams, sentence: Ids, shape: tuple[int, ...], *, unique: bool) -> None:
        self._unique = unique
        self._shape = shape
        owner = words.row * shape[1] + sentence[words.row, words.place]  # the sentence that each word stands in
        mixed = words.word ^ (words.row.astype(np.uint64) * _SPREAD)
        _, kind = np.unique(mixed, return_inverse=True)  # and its number among the different ones of its row
        pair, self._count = np.unique(kind * (shape[0] * shape[1]) + owner, return_counts=True)
        self._kind, self._owner = np.divmod(pair, shape[0] * shape[1])
        self._total = np.bincount(kind)
        self._row = np.zeros(len(self._total), np.int64)
        self._row[kind] = words.row
        self._chosen = np.zeros_like(self._total)  # how often each word stands in the sentences chosen so far

    def scores(self) -> Scores:
        """[B, S] the F1 of each sentence, joined with those chosen, against all others."""
        own, rest, shared = self._sizes(self._chosen, self._total)
        one = self._chosen[self._kind], self._total[self._kind]
        own_change, rest_change, shared_change = (
            after - before for after, before in zip(self._sizes(one[0] + self._count, one[1]), self._sizes(*one), strict=True)
        )
        size = self._by_row(own + rest) + self._by_sentence(own_change + rest_change)
        return np.asarray(2 * (self._by_row(shared) + self._by_sentence(shared_change)) / np.maximum(size, 1))

    def choose(self, picked: NDArray[np.bool_]) -> None:
        """Move the sentences [B, S] from the rest to the chosen."""
        mine = picked.ravel()[self._owner]
        self._chosen += np.bincount(self._kind[mine], weights=self._count[mine], minlength=len(self._chosen)).astype(np.int64)

    def _sizes(self, chosen: Ids, total: Ids) -> tuple[Ids, Ids, Ids]:
        """Words of the candidate, of the reference, and of both."""
        most = 1 if self._unique else np.iinfo(np.int64).max
        own, rest = np.minimum(chosen, most), np.minimum(total - chosen, most)
        return own, rest, np.minimum(own, rest)

    def _by_row(self, values: Ids) -> Scores:
        return np.asarray(np.bincount(self._row, weights=values, minlength=self._shape[0])[:, None], np.float64)

    def _by_sentence(self, values: Ids) -> Scores:
        found = np.bincount(self._owner, weights=values, minlength=self._shape[0] * self._shape[1])
        return np.asarray(found.reshape(self._shape), np.float64)


def _best(scores: Scores, there: NDArray[np.bool_], count: Ids) -> NDArray[np.bool_]:
    """The `count` best sentences of each row; of equals the later, as in the authors' code."""
    ranked = np.argsort(np.where(there, -scores, np.inf)[:, ::-1], axis=1, kind="stable")
    picked = np.zeros(there.shape, bool)
    np.put_along_axis(picked, ranked, np.arange(there.shape[1]) < count[:, None], axis=1)
    return picked[:, ::-1]


def _in_turn(rouge: Rouge, scatter: Scores, there: NDArray[np.bool_], count: Ids) -> NDArray[np.bool_]:
    """One sentence after the other, each the best together with those before it."""
    picked = np.zeros(there.shape, bool)
    for turn in range(int(count.max(initial=0))):
        best = _best(rouge.scores() * scatter, there & ~picked, (turn < count).astype(np.int64))
        rouge.choose(best)
        picked |= best
    return picked
