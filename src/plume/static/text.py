"""What the trainers of static vectors read: a vocabulary with its counts, and the text as word numbers."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError

LONGEST_SENTENCE = 1000  # word2vec.c: what is longer goes on as a further sentence


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Words by falling count; a word's number is its place.

    >>> Vocabulary(words=("the", "cat"), counts=np.array([3, 1])).index["cat"]
    1
    """

    words: tuple[str, ...]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.words) != len(self.counts):
            raise PlumeError(f"A vocabulary of {len(self.words)} words with {len(self.counts)} counts: one count a word is needed.")
        if len(self.counts) > 1 and (np.diff(self.counts) > 0).any():
            raise PlumeError(
                "The vocabulary is not sorted by falling count: sort it, as Huffman codes and word numbers rest on that order."
            )

    def __len__(self) -> int:
        return len(self.words)

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """A word's number."""
        return {word: number for number, word in enumerate(self.words)}

    @property
    def total(self) -> int:
        """Words of text."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True)
class WordText:
    """A text as word numbers, words outside the vocabulary taken out; sentence s is `ids[start[s]:start[s + 1]]`.

    >>> WordText(ids=np.array([4, 2, 7], np.int32), start=np.array([0, 2, 3])).part(1, 2).ids
    array([7], dtype=int32)
    """

    ids: NDArray[np.int32]  # both may be memory-mapped
    start: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start) - 1

    def part(self, first: int, last: int) -> WordText:
        """Sentences first … last - 1, copied to memory."""
        begin, end = int(self.start[first]), int(self.start[last])
        return WordText(ids=np.array(self.ids[begin:end], np.int32), start=np.array(self.start[first : last + 1], np.int64) - begin)

    def cuts(self, first: int, last: int, count: int) -> NDArray[np.int64]:
        """[count + 1] sentences at which first … last - 1 is cut in `count` parts of about as many words each."""
        words = np.linspace(float(self.start[first]), float(self.start[last]), count + 1)
        cuts = np.searchsorted(self.start, words)
        cuts[0], cuts[-1] = first, last
        return np.clip(cuts, first, last).astype(np.int64)
