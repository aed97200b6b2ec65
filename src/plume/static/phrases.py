"""Bigrams that are more frequent than their words explain become words of their own (word2phrase.c; Mikolov et al. 2013b, section 4)."""

from __future__ import annotations

import functools
from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.static.text import Vocabulary, WordText
from plume.text.languages import is_han


@dataclass(frozen=True, kw_only=True)
class Phrases(Part):
    """Join a and b where (count(ab) - delta) / (count(a) · count(b)) · words > threshold; a second pass joins phrases with words to longer ones.

    Rare words were taken out of the text before, so that a bigram may reach over one. Where both sides are Chinese nothing is put between
    them, else "_".

    >>> text = WordText(ids=np.array([1, 2, 1, 2, 0, 0, 0], np.int32), start=np.array([0, 7]))
    >>> vocabulary = Vocabulary(words=("is", "new", "york"), counts=np.array([3, 2, 2]))
    >>> Phrases(threshold=1, delta=1).apply(text, vocabulary)[1].words
    ('is', 'new_york')
    """

    passes: int = 1
    threshold: float = 100.0
    delta: float = 5.0  # word2phrase.c's min-count: bigrams of words seen so seldom are not judged

    def __post_init__(self) -> None:
        if self.passes < 1 or self.delta < 0:
            raise PlumeError(f"Phrases: passes={self.passes} must be at least 1 and delta={self.delta} at least 0.")

    def apply(self, text: WordText, vocabulary: Vocabulary) -> tuple[WordText, Vocabulary]:
        """The text with its phrases joined, and the vocabulary of that text."""
        for _ in range(self.passes):
            text, vocabulary = self._pass(text, vocabulary)
        return text, vocabulary

    def join(self, words: Sequence[str], index: Container[str]) -> list[str]:
        """The words of a text with those joined that the vocabulary has as a phrase, from left to right, the longest first.

        >>> Phrases(passes=2).join(["new", "york", "times", "is", "new"], {"new_york_times": 0, "is": 1})
        ['new_york_times', 'is', 'new']
        """
        joined: list[str] = []
        place = 0
        while place < len(words):
            for size in range(min(1 << self.passes, len(words) - place), 1, -1):
                phrase = functools.reduce(_spelled, words[place : place + size])
                if phrase in index:
                    break
            else:
                phrase, size = words[place], 1
            joined.append(phrase)
            place += size
        return joined

    def _pass(self, text: WordText, vocabulary: Vocabulary) -> tuple[WordText, Vocabulary]:
        ids = np.asarray(text.ids, np.int64)
        size = len(vocabulary)
        counts = np.bincount(ids, minlength=size)
        within = np.ones(max(len(ids) - 1, 0), bool)
        ends = text.start[1:-1] - 1
        within[ends[(ends >= 0) & (ends < len(within))]] = False  # no pair across a sentence's end
        pairs = ids[:-1] * size + ids[1:]
        found, number, times = np.unique(pairs[within], return_inverse=True, return_counts=True)
        left, right = counts[found // size], counts[found % size]
        score = (times - self.delta) / (left * right) * len(ids)
        good = (score > self.threshold) & (left >= self.delta) & (right >= self.delta)
        joined = np.zeros(len(ids), bool)
        joined[np.flatnonzero(within)] = good[number]
        first = _without_overlap(joined)
        words, new = _named(vocabulary, found[good])
        renamed = ids.copy()
        renamed[first] = new[np.searchsorted(found[good], pairs[first])]
        keep = np.ones(len(ids), bool)
        keep[first + 1] = False
        start = np.concatenate([[0], np.cumsum(keep)])[text.start]
        return _renumbered(renamed[keep], start, words)


def _without_overlap(joined: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Where a joined pair begins, from left to right: in a row of wanted joins every other one."""
    wanted = np.flatnonzero(joined)
    fresh = np.append(True, np.diff(wanted) > 1) if len(wanted) else np.zeros(0, bool)
    begin = np.maximum.accumulate(np.where(fresh, wanted, 0))
    return wanted[(wanted - begin) % 2 == 0]


def _named(vocabulary: Vocabulary, pairs: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """All words with the phrases behind, and each pair's number; a phrase spelt as a word that is there is that word."""
    words, index = list(vocabulary.words), dict(vocabulary.index)
    numbers = np.empty(len(pairs), np.int64)
    for place, pair in enumerate(pairs.tolist()):  # over phrases, not over text
        phrase = _spelled(words[pair // len(vocabulary)], words[pair % len(vocabulary)])
        if phrase not in index:
            index[phrase] = len(words)
            words.append(phrase)
        numbers[place] = index[phrase]
    return words, numbers


def _spelled(left: str, right: str) -> str:
    return left + ("" if is_han(left[-1:]) and is_han(right[:1]) else "_") + right


def _renumbered(ids: NDArray[np.int64], start: NDArray[np.int64], words: list[str]) -> tuple[WordText, Vocabulary]:
    counts = np.bincount(ids, minlength=len(words))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]  # a word that stands in phrases only is no longer one
    rank = np.zeros(len(words), np.int32)
    rank[order] = np.arange(len(order))
    vocabulary = Vocabulary(words=tuple(words[number] for number in order.tolist()), counts=counts[order].astype(np.int64))
    return WordText(ids=rank[ids], start=start.astype(np.int64)), vocabulary
