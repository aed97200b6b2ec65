"""Words in rows: which token speaks for each word, and in which window of a long text."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch
from plume.text.pieces import Joined, bounds
from plume.tuning.rows.questions import TokenQuestions, one_each
from plume.tuning.rows.rows import Array, Coder, Stretch
from plume.tuning.rows.windows import owner_window, windows
from plume.tuning.rows.word_cuts import FoundWords, first_tokens


@dataclass(frozen=True, kw_only=True)
class WordQuestions(TokenQuestions):
    """A label is asked of each word. A word that the tokenizer drops has no token, and nobody is asked about it."""

    word_bounds: Array  # [E + 1] the words of each example
    word_start: Array  # [W] in characters of the text
    word_end: Array  # [W]
    line: Array  # [W] of the table of answers; -1: not asked

    def word_values(self, table: NDArray, missing: float) -> NDArray:
        """[W] from one value a line; `missing` where nobody was asked."""
        found = np.full(len(self.line), missing, table.dtype)
        found[self.line >= 0] = table[self.line[self.line >= 0]]
        return found

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        """Words are counted by group: the windows of a sentence are one chain."""
        batch = super()._asked(batch, index, picked)
        counts = np.diff(self.asked[self.groups])[index]
        return replace(batch, labels={name: replace(target, feature=counts) for name, target in batch.labels.items()})


def ask_words(name: str, words: FoundWords, coder: Coder, *, together: bool = False) -> WordQuestions:
    """Without the answers. `together`: the windows of a text are one group, for a chain that runs through all of them."""
    cut = words.cut
    token = first_tokens(words)
    base = np.repeat(cut.character_bounds[:-1], np.diff(words.bounds))
    asked = token >= 0
    begin, finish, owner, groups = _windows(cut, coder.room(1))
    language = None if words.language is None else np.repeat(words.language, np.diff(groups))
    rows = coder.lay_out(Stretch(cut=cut, begin=begin, end=finish, language=language))
    row = owner[token[asked]]
    before = coder.single.index("A")  # special tokens in front of the text
    line = np.full(len(token), -1)
    line[asked] = np.arange(int(asked.sum()))
    return WordQuestions(
        name=name,
        rows=rows,
        groups=groups if together else one_each(len(rows)),
        column=token[asked] - begin[row] + before,
        asked=bounds(np.bincount(row, minlength=len(rows))),
        value=None,
        word_bounds=words.bounds,
        word_start=words.start - base,
        word_end=words.end - base,
        line=line,
    )


def _windows(cut: Joined, room: int) -> tuple[Array, Array, Array, Array]:
    """Rows of whole texts, or of overlapping windows of a long one: begin and end of each; the row that answers for each token; rows by text."""
    length = np.diff(cut.token_bounds)
    long = np.flatnonzero(length > room)
    found = [windows(count, room=room, stride=room // 4) for count in length[long].tolist()]
    count = np.ones(len(length), np.int64)
    count[long] = [len(one) for one in found]
    groups = bounds(count)
    begin, end = np.repeat(cut.token_bounds[:-1], count), np.repeat(cut.token_bounds[1:], count)
    owner = np.repeat(groups[:-1], length)
    for text, places in zip(long.tolist(), found, strict=True):
        first, last = cut.token_bounds[text], cut.token_bounds[text + 1]
        row = groups[text]
        owner[first:last] = row + owner_window(places, int(last - first))
        begin[row : row + len(places)], end[row : row + len(places)] = first + np.array(places).T
    return begin, end, owner, groups
