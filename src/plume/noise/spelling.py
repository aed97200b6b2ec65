"""How tokens are spelt, for noise that compares words rather than tokens (PEGASUS' ROUGE)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.noise.rows import Rows

_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that its powers never vanish modulo 2**64
# Kana, Han and Hangul: scripts whose characters count one by one. (first, last) code points.
_SINGLE = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """The letters and digits of each token of the vocabulary: code[first[i]:first[i + 1]]. Punctuation has none.

    >>> table = Spelling.of(["The", "cat", "s", ".", "北京"])
    >>> table.first.tolist(), "".join(map(chr, table.code))
    ([0, 3, 6, 7, 7, 9], 'thecats北京')
    """

    first: NDArray[np.int64]  # [V + 1]
    code: NDArray[np.int64]  # [N] code points, lower case

    @classmethod
    def of(cls, tokens: Sequence[str]) -> Spelling:
        """From the text of each token, without the marks of its tokenizer (##, ▁)."""
        letters = ["".join(character for character in token.lower() if character.isalnum()) for token in tokens]
        first = np.concatenate([[0], np.cumsum([len(word) for word in letters])]).astype(np.int64)
        return cls(first=first, code=_codes(letters))


def _codes(words: Iterable[str]) -> NDArray[np.int64]:
    return np.frombuffer("".join(words).encode("utf-32-le"), np.uint32).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Unigrams:
    """The words of a batch, one after the other: a hash of each, its row, and the place of its first token."""

    word: NDArray[np.uint64]  # [N]
    row: NDArray[np.int64]  # [N]
    place: NDArray[np.int64]  # [N]


def unigrams(rows: Rows, spelling: Spelling | None) -> Unigrams:
    """The ordinary words of the rows; with a spelling, letter by letter: case, punctuation and how a word was cut do not matter, and each
    Chinese character is a word of its own. Without one a word is the ids of its tokens."""
    row, place = np.nonzero(~rows.special)
    token = rows.tokens[row, place]
    begins = rows.word_start[row, place] | (np.diff(row, prepend=-1) != 0) | (np.diff(place, prepend=-2) != 1)
    if spelling is None:
        item, code = np.arange(len(token)), token
        breaks = begins
    else:
        count = spelling.first[token + 1] - spelling.first[token]
        item = np.repeat(np.arange(len(token)), count)
        within = np.arange(len(item)) - np.repeat(np.cumsum(count) - count, count)
        code = spelling.code[spelling.first[token[item]] + within]
        word_of = np.cumsum(begins)[item]
        single = _single(code)
        # A token without letters (punctuation) parts words too.
        breaks = (np.diff(word_of, prepend=-1) != 0) | (np.diff(item, prepend=-2) > 1) | single
        breaks[1:] |= single[:-1]
    first = np.flatnonzero(breaks)
    length = np.diff(first, append=len(code))
    behind = np.repeat(first + length, length) - np.arange(len(code)) - 1  # letters of the word after this one
    power = np.cumprod(np.full(int(length.max(initial=0)) + 1, _BASE))
    word = np.add.reduceat((code + 1).astype(np.uint64) * power[behind], first) if len(first) else np.zeros(0, np.uint64)
    return Unigrams(word=word, row=row[item[first]], place=place[item[first]])


def _single(code: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which characters are words of their own?"""
    found = np.zeros(code.shape, bool)
    for low, high in _SINGLE:
        found |= (code >= low) & (code <= high)
    return found
