"""Tokens with the places they come from, and where words begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.text.languages import han_mask, has_han
from plume.text.words import chinese_word_starts


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """The tokens of one text. `start` and `end` count characters of the original text; the space before a word is no part of it."""

    ids: NDArray[np.int64]
    word_start: NDArray[np.bool_]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Joined:
    """The tokens of many texts one after another; `start` and `end` count characters of the texts put together."""

    ids: NDArray[np.int64]
    word_start: NDArray[np.bool_]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    token_bounds: NDArray[np.int64]  # [texts + 1]
    character_bounds: NDArray[np.int64]  # [texts + 1]
    named: NDArray[np.int64] | None = None  # of each token, the entity that it is part of a mention of, -1: none; where texts were linked

    def part(self, number: int) -> Pieces:
        """The tokens of one of the texts, their places counted from its start."""
        part = slice(self.token_bounds[number], self.token_bounds[number + 1])
        base = self.character_bounds[number]
        return Pieces(ids=self.ids[part], word_start=self.word_start[part], start=self.start[part] - base, end=self.end[part] - base)


def bounds(lengths: Iterable[int]) -> NDArray[np.int64]:
    """Where each of several runs begins, and the last one ends.

    >>> bounds([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.fromiter(lengths, np.int64))])


def join(encodings: Sequence[Any], texts: Sequence[str]) -> Joined:
    """The library's encodings of the texts as arrays. Words are those of the tokenizer's first cut, and single Chinese characters."""
    token_bounds, character_bounds = bounds(map(len, encodings)), bounds(map(len, texts))
    total = int(token_bounds[-1])
    base = np.repeat(character_bounds[:-1], np.diff(token_bounds))
    offsets = np.fromiter(chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings)), np.int64, 2 * total)
    start, end = offsets[0::2] + base, offsets[1::2] + base
    codes = np.frombuffer(("".join(texts) + " ").encode("utf-32-le", "surrogatepass"), np.uint32)  # a space, so that there is something
    start = start + ((end - start > 1) & (codes[start] == ord(" ")))
    first = np.zeros(total, np.bool_)
    first[token_bounds[:-1][np.diff(token_bounds) > 0]] = True
    return Joined(
        ids=np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), np.int64, total),
        word_start=_word_starts(_word_ids(encodings, total), start, end, first, codes),
        start=start,
        end=end,
        token_bounds=token_bounds,
        character_bounds=character_bounds,
    )


def group_chinese_words(joined: Joined, texts: Sequence[str]) -> NDArray[np.bool_]:
    """The word starts less those strictly inside a Chinese word; the first token of a text always begins a word."""
    marks = [chinese_word_starts(text) if has_han(text) else np.ones(len(text), np.bool_) for text in texts]
    may_start = np.concatenate([*marks, np.ones(1, np.bool_)])
    found = joined.word_start & may_start[joined.start]
    found[joined.token_bounds[:-1][np.diff(joined.token_bounds) > 0]] = True
    return found


def _word_ids(encodings: Sequence[Any], total: int) -> NDArray[np.int64]:
    try:
        return np.fromiter(chain.from_iterable(encoding.word_ids for encoding in encodings), np.int64, total)
    except TypeError:  # a special token written in the text is of no word, None: then -1
        return np.fromiter((-1 if word is None else word for encoding in encodings for word in encoding.word_ids), np.int64, total)


def _word_starts(
    words: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64], first: NDArray[np.bool_], codes: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    """A token begins a word where the first cut began one, and before and after each Chinese character that it does not share."""
    begins = first.copy()
    begins[1:] |= (words[1:] != words[:-1]) | (words[1:] < 0)
    han = han_mask(codes)
    beside_han = han[start] | han[np.maximum(start - 1, 0)]
    begins[1:] |= beside_han[1:] & (start[1:] >= end[:-1])  # not in the middle of a character whose bytes are several tokens
    return begins
