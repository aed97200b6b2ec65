"""Prompted rows as questions: from here come the batches of training and of use alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from plume.core.batch import Batch, Target
from plume.core.part import replace
from plume.text.pieces import bounds
from plume.tuning.prompts.blank import PromptBlank
from plume.tuning.prompts.layout import PromptedRows, PromptLayout
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.rows.rows import Array, TextRows, runs


@dataclass(frozen=True, kw_only=True)
class PromptQuestions(Questions):
    """A group is an example: its rows together say how likely each label is. Batches are whole: the blank says how they are read."""

    complete: ClassVar[bool] = True

    blank: PromptBlank
    places: Array  # [P] columns that are read, row by row
    place_bounds: Array  # [R + 1]
    readings: Array  # [N, 4] which of its row's places, token, label, and how many tokens that label has in all
    reading_bounds: Array  # [R + 1]
    value: Floats  # [G, L] the share of each label in the answer; 0 everywhere: not known
    written: TextRows | None  # by a decoder
    shared: Array | None = None  # [R] tokens at the front of each row that show other examples; None: nothing is shown there

    @property
    def length(self) -> Array:
        length = self.rows.length if self.written is None else self.rows.length + self.written.length
        return np.maximum.reduceat(length, self.groups[:-1])

    @property
    def beside(self) -> Array:
        written = [] if self.written is None else [self.written.tokens]
        return np.concatenate([self.readings[:, 1], *written])

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        counts = np.diff(self.place_bounds)[picked]
        flat = self.places[runs(self.place_bounds[picked], counts)]
        row = np.repeat(np.arange(len(picked)), counts)
        column = np.arange(len(flat)) - np.repeat(np.cumsum(counts) - counts, counts)
        read = np.zeros((len(picked), int(counts.max())), np.int64)
        read[row, column] = flat
        if self.written is not None:
            written = self.written.padded(self.written.tokens, picked, self.rows.pad), self.written.length[picked]
        made = self.blank.batch(replace(batch, read=read), written if self.written is not None else None)
        many = np.diff(self.reading_bounds)[picked]
        asked = runs(self.reading_bounds[picked], many)
        owner = np.repeat(np.arange(len(picked)), many)
        group = np.repeat(np.arange(len(index)), np.diff(self.groups)[index])
        first = np.cumsum(counts) - counts
        target = Target(
            index=row * made.tokens.shape[1] + flat,
            slot=None if made.read is None else row * read.shape[1] + column,
            value=self.value[index],
            context=np.column_stack(
                [first[owner] + self.readings[asked, 0], self.readings[asked, 1], group[owner], self.readings[asked, 2]]
            ),
            feature=self.readings[asked, 3],
        )
        return replace(made, labels={self.name: target})

    @property
    def lines(self) -> int:
        return len(self)

    def keep(self, table: Floats, scores: Floats, index: Array) -> None:
        table[index] = scores

    def said(self, table: Floats, index: Array) -> Floats:
        return table[index]


def prompt_questions(
    name: str, layout: PromptLayout, asked: Sequence[PromptedRows], *, value: Floats, languages: Sequence[int] | None = None
) -> PromptQuestions:
    """`languages` are those of the examples, where the model has a vector for each."""
    rows = [row for one in asked for row in one.rows]
    owner = np.repeat(np.arange(len(asked)), [len(one.rows) for one in asked])
    blank, pad = layout.blank, layout.tokenizer.pad
    made = text_rows([row.tokens for row in rows], pad)
    segment = _segments(made, layout, None if languages is None else np.array(languages)[owner])
    return PromptQuestions(
        name=name,
        rows=replace(made, segment=segment, cut=np.array([one.cut for one in asked], np.bool_)[owner]),
        groups=bounds(len(one.rows) for one in asked),
        blank=blank,
        places=_flat(row.places for row in rows),
        place_bounds=bounds(len(row.places) for row in rows),
        readings=np.array([(one.place, one.token, one.label, one.among) for row in rows for one in row.readings], np.int64),
        reading_bounds=bounds(len(row.readings) for row in rows),
        value=value,
        written=text_rows([row.written for row in rows], pad) if any(row.written for row in rows) else None,
        shared=np.array([row.shared for row in rows]) if any(row.shared for row in rows) else None,
    )


def _segments(rows: TextRows, layout: PromptLayout, language: Array | None) -> Array | None:
    """[total] of each token: its row's language, or what the format gives special tokens (XLNet's <cls>). None: all 0."""
    form, blank = layout.tokenizer.format, layout.blank
    if language is not None:
        return np.repeat(language, rows.length)
    if not any(form.single_segments) or not blank.in_the_format:
        return None
    place = form.single.index("A")
    found = np.full(len(rows.tokens), form.single_segments[place])
    for number, special in enumerate(form.single_segments[:place]):
        found[rows.bounds[:-1] + number] = special
    for number, special in enumerate(reversed(form.single_segments[place + 1 :]), 1):
        found[rows.bounds[1:] - number] = special
    return found


def text_rows(rows: Sequence[Sequence[int]], pad: int) -> TextRows:
    """Rows that nobody asks where in a text they come from."""
    tokens = _flat(rows)
    nowhere = np.full(len(tokens), -1)
    return TextRows(tokens=tokens, segment=None, text=nowhere, place=nowhere, bounds=bounds(len(row) for row in rows), pad=pad)


def _flat(rows) -> Array:  # type: ignore[no-untyped-def]
    return np.fromiter(chain.from_iterable(rows), np.int64)
