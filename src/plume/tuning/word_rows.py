"""Words in rows: which token speaks for each word, and in which window of a long text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from plume.readers.example import Example
from plume.text.pieces import Joined, bounds
from plume.tuning.answers import owner_window, windows
from plume.tuning.questions import TokenQuestions, one_each
from plume.tuning.rows import Array, Coder, Stretch


@dataclass(frozen=True, kw_only=True)
class WordQuestions(TokenQuestions):
    """A label is asked of each word. A word that the tokeniser drops has no token, and nobody is asked about it."""

    word_bounds: Array  # [E + 1] the words of each example
    word_start: Array  # [W] in characters of the text
    word_end: Array  # [W]
    line: Array  # [W] of the table of answers; -1: not asked

    def word_values(self, table: NDArray, missing: int) -> NDArray:
        """[W] from one value a line; `missing` where nobody was asked."""
        found = np.full(len(self.line), missing, table.dtype)
        found[self.line >= 0] = table[self.line[self.line >= 0]]
        return found


def ask_words(name: str, examples: Sequence[Example], coder: Coder, tags: NDArray | None) -> WordQuestions:
    """`tags` [W] are the answers, for the examples' own words."""
    cut = coder.cut([example.texts[0] for example in examples])
    word_bounds, start, end = words_of(examples, cut)
    token = first_tokens(cut, start, end)
    base = np.repeat(cut.character_bounds[:-1], np.diff(word_bounds))
    asked = token >= 0
    begin, finish, owner = _windows(cut, coder.room(1))
    rows = coder.lay_out(Stretch(cut=cut, begin=begin, end=finish))
    row = owner[token[asked]]
    before = coder.single.index("A")  # special tokens in front of the text
    line = np.full(len(token), -1)
    line[asked] = np.arange(int(asked.sum()))
    return WordQuestions(
        name=name,
        rows=rows,
        groups=one_each(len(rows)),
        column=token[asked] - begin[row] + before,
        asked=bounds(np.bincount(row, minlength=len(rows))),
        value=None if tags is None else tags[asked],
        word_bounds=word_bounds,
        word_start=start - base,
        word_end=end - base,
        line=line,
    )


def words_of(examples: Sequence[Example], cut: Joined) -> tuple[Array, Array, Array]:
    """Bounds by example, and where each word starts and ends in all texts put together: the file's own words, or else the tokeniser's."""
    if not all(example.words is not None for example in examples):
        return _own_words(cut, "".join(example.texts[0] for example in examples))
    sizes = bounds(len(example.words or ()) for example in examples)
    flat = np.fromiter(chain.from_iterable(chain.from_iterable(example.words or () for example in examples)), np.int64, 2 * int(sizes[-1]))
    base = np.repeat(cut.character_bounds[:-1], np.diff(sizes))
    return sizes, flat[0::2] + base, flat[1::2] + base


def _own_words(cut: Joined, text: str) -> tuple[Array, Array, Array]:
    """The tokeniser's first cut. Pieces of one character belong together; white space belongs to no word."""
    if not len(cut.ids):
        return np.zeros(len(cut.token_bounds), np.int64), cut.start, cut.end
    reached = np.maximum.accumulate(cut.end)
    begins = cut.word_start.copy()
    begins[1:] &= cut.start[1:] >= reached[:-1]
    first = np.flatnonzero(begins)
    start, end = cut.start[first], reached[np.append(first[1:], len(cut.ids)) - 1]
    inked = np.flatnonzero([not character.isspace() for character in text])
    one, after = np.searchsorted(inked, start), np.searchsorted(inked, end)
    there = one < after
    start, end = inked[one[there]], inked[after[there] - 1] + 1
    return np.searchsorted(start, cut.character_bounds), start, end


def first_tokens(cut: Joined, start: Array, end: Array) -> Array:
    """[W] the first token of each word; -1 where no token stands for it."""
    if not len(cut.ids):
        return np.full(len(start), -1)
    token = np.searchsorted(np.maximum.accumulate(cut.end), start, side="right")  # the first that ends after the word begins
    found = token < len(cut.ids)
    token = np.minimum(token, len(cut.ids) - 1)
    return np.where(found & (cut.start[token] < end), token, -1)


def _windows(cut: Joined, room: int) -> tuple[Array, Array, Array]:
    """Rows of whole texts, or of overlapping windows of a long one: begin and end of each; and the row that answers for each token."""
    length = np.diff(cut.token_bounds)
    owner = np.repeat(np.arange(len(length)), length)
    if not (length > room).any():
        return cut.token_bounds[:-1], cut.token_bounds[1:], owner
    begin: list[int] = []
    end: list[int] = []
    for first, count in zip(cut.token_bounds[:-1].tolist(), length.tolist(), strict=True):
        found = windows(count, room=room, stride=room // 4)
        owner[first : first + count] = len(begin) + owner_window(found, count)
        begin += [first + one for one, _ in found]
        end += [first + one for _, one in found]
    return np.array(begin), np.array(end), owner
