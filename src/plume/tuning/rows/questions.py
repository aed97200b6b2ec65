"""Questions: rows of tokens, what is asked about them, and the answers where they are known. From here come the batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch, Order, Target
from plume.core.batching import TOKENS, by_length
from plume.data.layouts.carried import NONE
from plume.data.loader import Cursor, length_batches
from plume.tuning.rows.rows import Array, TextRows, runs

Floats = NDArray[np.float32]
_NEVER = -1e4  # score of a place where no answer can be, as the head has it


@dataclass(frozen=True, kw_only=True)
class Questions:
    """Rows in groups; a group is asked together. Answers are kept in one table, with a line for each thing that is asked."""

    name: str  # of the task: its head and its loss
    rows: TextRows
    groups: Array  # [G + 1] bounds of the rows of each group

    complete: ClassVar[bool] = False  # its batches say themselves in which order they are read

    def __len__(self) -> int:
        return len(self.groups) - 1

    @property
    def length(self) -> Array:
        """[G] of the longest row of each group."""
        return np.maximum.reduceat(self.rows.length, self.groups[:-1])

    def rows_of(self, index: Array) -> Array:
        """The rows of these groups."""
        return runs(self.groups[index], np.diff(self.groups)[index])

    def batch(self, index: Array) -> Batch:
        """Of these groups; in numpy, and without what the model's own order of reading adds."""
        picked = self.rows_of(index)
        rows, length = self.rows, self.rows.length[picked]
        tokens = rows.padded(rows.tokens, picked, rows.pad)
        batch = Batch(
            tokens=tokens,
            length=length if (length < tokens.shape[1]).any() else None,
            segment=None if rows.segment is None else rows.padded(rows.segment, picked, 0),
            named={} if rows.named is None else {rows.named_as: rows.padded(rows.named, picked, NONE)},
        )
        return self._asked(batch, index, picked)

    @property
    def beside(self) -> Array:
        """Tokens that answers are made of, or that a decoder writes, outside the rows."""
        return np.empty(0, np.int64)

    def drawn(self, generator: np.random.Generator) -> Array:
        """The groups that an epoch of training reads: all of them."""
        return np.arange(len(self))

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        """With what is read and what is asked."""
        raise NotImplementedError

    @property
    def lines(self) -> int:
        """Of the table of answers."""
        raise NotImplementedError

    def keep(self, table: Floats, scores: Floats, index: Array) -> None:
        """Put what the head said of these groups into the table."""
        raise NotImplementedError

    def said(self, table: Floats, index: Array) -> Floats:
        """What was kept of these groups, as the head said it."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class TokenQuestions(Questions):
    """Something is asked of some tokens of each row: of one that stands for the text, or of the first of each word."""

    column: Array  # [N] in its row
    asked: Array  # [R + 1] bounds of `column`, by row
    value: NDArray | None  # [N] or [N, classes]; None: not known

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        counts = np.diff(self.asked)[picked]
        flat = runs(self.asked[picked], counts)
        most = int(counts.max())
        slot_row = np.repeat(np.arange(len(picked)), counts)
        slot_column = np.arange(len(flat)) - np.repeat(np.cumsum(counts) - counts, counts)
        read = np.zeros((len(picked), max(most, 1)), np.int64)
        read[slot_row, slot_column] = self.column[flat]
        value = np.zeros(len(flat), np.int64) if self.value is None else self.value[flat]
        target = Target(
            index=slot_row * batch.tokens.shape[1] + self.column[flat],
            slot=slot_row * read.shape[1] + slot_column,
            value=value,
            feature=counts,
        )
        return replace(batch, read=read, labels={self.name: target})

    @property
    def lines(self) -> int:
        return len(self.column)

    def keep(self, table: Floats, scores: Floats, index: Array) -> None:
        table[self._lines(index)] = scores

    def said(self, table: Floats, index: Array) -> Floats:
        return table[self._lines(index)]

    def _lines(self, index: Array) -> Array:
        picked = self.rows_of(index)
        return runs(self.asked[picked], np.diff(self.asked)[picked])


@dataclass(frozen=True, kw_only=True)
class ChoiceQuestions(Questions):
    """Which of a group's rows is the right one."""

    column: Array  # [R] that stands for the row
    value: Array | None  # [G]

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        sizes = np.diff(self.groups)[index]
        number = np.cumsum(sizes) - sizes
        place = np.arange(int(sizes.max()))
        context = np.where(place < sizes[:, None], number[:, None] + place, -1)
        row = np.arange(len(picked))
        target = Target(
            index=row * batch.tokens.shape[1] + self.column[picked], slot=row, context=context,
            value=np.zeros(len(index), np.int64) if self.value is None else self.value[index],
        )  # fmt: skip
        return replace(batch, read=self.column[picked][:, None], labels={self.name: target})

    @property
    def lines(self) -> int:
        return len(self.rows)

    def keep(self, table: Floats, scores: Floats, index: Array) -> None:
        table[self.rows_of(index), 0] = scores[scores > -np.inf]

    def said(self, table: Floats, index: Array) -> Floats:
        sizes = np.diff(self.groups)[index]
        there = np.arange(int(sizes.max())) < sizes[:, None]
        found = np.full(there.shape, -np.inf, table.dtype)
        found[there] = table[self.rows_of(index), 0]
        return found


@dataclass(frozen=True, kw_only=True)
class SpanQuestions(Questions):
    """Where in the row the answer begins and ends."""

    allowed: NDArray[np.bool_]  # [total] tokens that may be its first or last
    value: Array | None  # [R, 2] columns

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        target = Target(
            index=np.arange(batch.tokens.size),
            value=np.zeros((len(picked), 2), np.int64) if self.value is None else self.value[picked],
            feature=self.rows.padded(self.allowed.astype(np.int64), picked, 0).astype(bool),
        )
        return replace(batch, labels={self.name: target})

    @property
    def lines(self) -> int:
        return len(self.rows.tokens)

    def keep(self, table: Floats, scores: Floats, index: Array) -> None:
        picked = self.rows_of(index)
        length = self.rows.length[picked]
        table[runs(self.rows.bounds[picked], length)] = scores[np.arange(scores.shape[1]) < length[:, None]]

    def said(self, table: Floats, index: Array) -> Floats:
        picked = self.rows_of(index)
        length = self.rows.length[picked]
        inside = np.arange(int(length.max())) < length[:, None]
        found = np.full((*inside.shape, table.shape[1]), _NEVER, table.dtype)
        found[inside] = table[runs(self.rows.bounds[picked], length)]
        return found


def one_each(rows: int) -> Array:
    """Groups, or questions, of one row each."""
    return np.arange(rows + 1)


@dataclass(kw_only=True)
class QuestionReader:
    """Batches of questions for training, in an order that follows from (seed, epoch): what a `Mixture` reads."""

    questions: Questions
    rows: int  # groups a batch
    seed: int
    finish: Callable[[Batch, Questions], Batch] = lambda batch, questions: batch  # what the model's way of reading adds
    renew: Callable[[int], Questions | None] = lambda epoch: None  # what is asked from the second epoch on; None: the same as ever
    _plans: dict[int, tuple[Questions, NDArray[np.int64]]] = field(default_factory=dict, repr=False)

    def plan(self, epoch: int) -> tuple[Questions, NDArray[np.int64]]:
        """What is asked in an epoch, and its batches [steps, rows]."""
        if epoch not in self._plans:
            new = self.renew(epoch) if epoch else None
            asked = self.questions if new is None else new
            generator = np.random.default_rng([self.seed % 2**64, epoch])
            drawn = asked.drawn(generator)
            made = asked, drawn[length_batches(asked.length[drawn], rows=self.rows, generator=generator)]
            self._plans = {number: held for number, held in self._plans.items() if number == epoch - 1} | {epoch: made}
        return self._plans[epoch]

    def following(self, cursor: Cursor) -> Cursor:
        """Where it stands after the batch at the cursor; plans the epoch."""
        more = cursor.step + 1 < len(self.plan(cursor.epoch)[1])
        return Cursor(epoch=cursor.epoch, step=cursor.step + 1) if more else Cursor(epoch=cursor.epoch + 1)

    def step(self, cursor: Cursor, shares: Sequence[slice]) -> tuple[Batch, ...]:
        """The batch at the cursor, in parts."""
        asked, batches = self.plan(cursor.epoch)
        index = batches[cursor.step]
        return tuple(self.finish(asked.batch(index[share]), asked) for share in shares)


def inference_batches(questions: Questions, *, tokens: int = TOKENS) -> Iterator[Array]:
    """Groups of like length together, as many as fit a number of tokens: hardly any padding is computed."""
    return by_length(questions.length, tokens=tokens, sizes=np.diff(questions.groups))


def in_reading_order(batch: Batch, order: Order) -> Batch:
    """Both ways, left to right, or right to left, which is written as ranks."""
    if order is not Order.REVERSED:
        return replace(batch, order=order)
    rank = np.broadcast_to(np.arange(batch.tokens.shape[1], 0, -1), batch.tokens.shape)
    return replace(batch, order=Order.RANKED, rank=rank)
