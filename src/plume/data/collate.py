"""From planned rows to a batch: gather the tokens, wrap them in the family's format, apply the noise, say which positions are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch, Target
from plume.core.seeds import Draws
from plume.data.layout import Layout, Plan
from plume.data.store import Store
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.target import Aim
from plume.text.tokenizer import Tokenizer

_TEXTS = ("A", "B")


@dataclass(frozen=True, kw_only=True)
class Frame:
    """How many special tokens a row carries and where: ids, and None where a text stands."""

    pieces: tuple[int | None, ...]
    segments: tuple[int, ...]  # of each piece
    pad: int

    @property
    def specials(self) -> int:
        return sum(piece is not None for piece in self.pieces)

    @classmethod
    def of(cls, layout: Layout, tokenizer: Tokenizer) -> Frame:
        form = tokenizer.format
        words = (form.pair if layout.texts == 2 else form.single) if layout.wrapped else _TEXTS[: layout.texts]
        segments = form.segments if words == form.pair and form.segments else (0,) * len(words)
        return cls(pieces=tuple(None if word in _TEXTS else tokenizer.id(word) for word in words), segments=segments, pad=tokenizer.pad)


def gather(store: Store, plan: Plan, index: NDArray[np.int64], frame: Frame, special_ids: NDArray[np.bool_]) -> Rows:
    """The rows `index` of the plan, right-padded to the longest of them."""
    start, end = plan.start[index], plan.end[index]
    batch = len(index)
    length = (end - start).sum(1) + frame.specials
    tokens = np.full((batch, int(length.max())), frame.pad, np.int64)
    word_start = np.ones(tokens.shape, bool)
    segment = np.zeros(tokens.shape, np.int64)
    special = np.arange(tokens.shape[1]) >= length[:, None]
    column = np.zeros(batch, np.int64)
    row = np.arange(batch)
    text = 0
    for piece, number in zip(frame.pieces, frame.segments, strict=True):
        if piece is not None:
            tokens[row, column], special[row, column], segment[row, column] = piece, True, number
            column = column + 1
            continue
        size = end[:, text] - start[:, text]
        rows = np.repeat(row, size)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
        there, here = start[rows, text] + within, column[rows] + within
        tokens[rows, here], word_start[rows, here], segment[rows, here] = store.tokens[there], store.word_start[there], number
        column, text = column + size, text + 1
    special |= special_ids[tokens]
    return Rows(
        tokens=tokens,
        length=length,
        special=special,
        word_start=word_start,
        segment=segment if any(frame.segments) else None,
        label=None if plan.label is None else plan.label[index],
    )


@dataclass(frozen=True, kw_only=True)
class Collator:
    """Makes the batch of some rows; objectives are named so that each head finds its labels."""

    noise: Noise
    alphabet: Alphabet
    token_objectives: tuple[str, ...]
    sentence_objectives: tuple[str, ...] = ()
    narrow: bool = True  # say which positions are read, so that the last block may skip the others

    def __call__(self, rows: Rows, draws: Draws) -> Batch:
        aim = self.noise(rows, draws, self.alphabet)
        batch, time = aim.shown.shape
        padded = bool((aim.length < time).any())
        tokens = self._token_target(aim)
        labels = dict.fromkeys(self.token_objectives, tokens)
        if self.sentence_objectives and rows.label is not None:
            first = Target(index=np.arange(batch, dtype=np.int64) * time, value=rows.label)
            labels |= dict.fromkeys(self.sentence_objectives, first)
        made = Batch(
            tokens=aim.shown,
            length=aim.length if padded else None,
            order=self.noise.order,
            segment=None if rows.segment is None else rows.segment[:, :time],
            labels=labels,
        )
        return narrowed(made) if self.narrow else made

    @staticmethod
    def _token_target(aim: Aim) -> Target:
        index = np.flatnonzero(aim.where)
        return Target(index=index, value=aim.what.ravel()[index], whole=len(index) == aim.where.size)


def narrowed(batch: Batch) -> Batch:
    """Say which positions the labels read, and point the labels there; nothing to gain where most are read."""
    rows, time = batch.tokens.shape
    wanted = np.zeros(rows * time, bool)
    for target in batch.labels.values():
        wanted[target.index] = True
    count = wanted.reshape(rows, time).sum(1)
    most = int(count.max())
    if most > time // 2:
        return batch
    flat = np.flatnonzero(wanted)
    slot_in_row = np.arange(len(flat)) - np.repeat(np.cumsum(count) - count, count)
    read = np.zeros((rows, most), np.int64)
    read[flat // time, slot_in_row] = flat % time
    slot = np.zeros(rows * time, np.int64)
    slot[flat] = (flat // time) * most + slot_in_row
    labels = {name: Target(index=target.index, value=target.value, slot=slot[target.index]) for name, target in batch.labels.items()}
    return Batch(**(vars(batch) | {"read": read, "labels": labels}))
