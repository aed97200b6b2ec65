"""From planned rows to a batch: gather the tokens, wrap them in the family's format, apply the noise, say which positions are read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch, Order, Target
from plume.core.seeds import Draws
from plume.data.layouts.carried import NONE
from plume.data.layouts.layout import Layout, RowPlan
from plume.data.store import Store
from plume.noise.noise import Noise
from plume.noise.rows import Alphabet, Rows
from plume.noise.target import Aim, SecondQuestion
from plume.text.tokenizer import Tokenizer

_TEXTS = ("A", "B", "C")
Array = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Frame:
    """How many special tokens a row carries and where: ids, and None where a text stands."""

    pieces: tuple[int | None, ...]
    segments: tuple[int, ...]  # of each piece
    pad: int
    sentences: bool = False  # say which sentence each token belongs to
    restarts: bool = False  # positions begin again with the second text
    carries: tuple[str, ...] = ()  # the fields that ride with the tokens
    attached: tuple[str, ...] = ()  # and what a run may have laid beside them

    @property
    def specials(self) -> int:
        """How many special tokens a row has."""
        return sum(piece is not None for piece in self.pieces)

    @classmethod
    def of(cls, layout: Layout, tokenizer: Tokenizer, *, sentences: bool = False) -> Frame:
        """The family's format for the layout's rows."""
        form = tokenizer.format
        shapes = {1: (form.single, form.single_segments), 2: (form.pair, form.segments), 3: (form.triple, form.triple_segments)}
        words, segments = shapes[layout.texts] if layout.wrapped else (_TEXTS[: layout.texts], ())
        return cls(
            pieces=tuple(None if word in _TEXTS else tokenizer.id(word) for word in words),
            segments=segments or (0,) * len(words),
            pad=tokenizer.pad,
            sentences=sentences,
            restarts=layout.restarts,
            carries=tuple(one.name for one in layout.carries),
            attached=layout.attached,
        )


def gather(store: Store, plan: RowPlan, index: Array, frame: Frame, special_ids: NDArray[np.bool_]) -> Rows:
    """The rows `index` of the plan, right-padded to the longest of them; `special_ids` says of each id whether it stands for no text."""
    start, end = plan.start[index], plan.end[index]
    pieces, segments = frame.pieces, frame.segments
    if plan.first is not None:  # a control code before everything; which one, the plan says
        pieces, segments = (frame.pad, *pieces), (0, *segments)
    further = start.shape[1] - sum(piece is None for piece in pieces)  # stretches that go on with the last text
    if further:
        last = max(number for number, piece in enumerate(pieces) if piece is None)
        pieces = (*pieces[:last], *[None] * further, *pieces[last:])
        segments = (*segments[:last], *[segments[last]] * further, *segments[last:])
    text_of = np.cumsum([piece is None for piece in pieces])  # texts begun so far
    ones = np.ones(len(index), np.int64)
    size = np.stack([ones if piece is not None else (end - start)[:, text - 1] for piece, text in zip(pieces, text_of, strict=True)], 1)
    begin = np.cumsum(size, axis=1) - size  # [B, P] the column at which each piece begins
    length = size.sum(1)
    column = np.broadcast_to(np.arange(int(length.max())), (len(index), int(length.max())))
    piece = (column[:, :, None] >= begin[:, None, :]).sum(2) - 1  # [B, T] which piece a column belongs to
    row = np.arange(len(index))[:, None]
    text = np.maximum(text_of - 1, 0)[piece]
    padding = column >= length[:, None]
    is_text = np.array([p is None for p in pieces])[piece] & ~padding
    within = column - begin[row, piece]
    backward = None if plan.backward is None else plan.backward[index]
    there = np.where(is_text, start[row, text] + within, 0)
    if backward is not None:
        there = np.where(is_text & backward[:, None], end[row, text] - 1 - within, there)
    tokens = np.where(is_text, store.tokens[there], np.array([frame.pad if p is None else p for p in pieces])[piece])
    tokens = np.where(padding, frame.pad, tokens).astype(np.int64)
    if plan.first is not None:
        tokens[:, 0] = plan.first[index]
    special = ~is_text | special_ids[tokens]
    return Rows(
        tokens=tokens,
        length=length,
        special=special,
        word_start=~is_text | _starts(store.word_start, there, backward),
        segment=_segment(plan, index, row, text, piece, padding, segments),
        position=_restarting(pieces, begin, row, column, text) if frame.restarts else None,
        sentence=_sentences(store, there, special) if frame.sentences else None,
        units={kind: ~is_text | _starts(begins, there, backward) for kind, begins in store.units.items()},
        named={name: np.where(is_text, store.named[name][there], NONE) for name in _riding(store, frame)},
        label=None if plan.label is None else plan.label[index],
        backward=backward,
    )


def _riding(store: Store, frame: Frame) -> tuple[str, ...]:
    """The names of what rides with the tokens; what is attached may be missing."""
    return (*frame.carries, *(name for name in frame.attached if name in store.named))


def _starts(begins: NDArray[np.bool_], there: Array, backward: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """[B, T] where words begin as the rows are read: turned round, with their last token."""
    if backward is None:
        return begins[there]
    after = there + 1
    last = (after == len(begins)) | begins[np.minimum(after, len(begins) - 1)]
    return np.where(backward[:, None], last, begins[there])


def _segment(
    plan: RowPlan, index: Array, row: Array, text: Array, piece: Array, padding: NDArray[np.bool_], segments: tuple[int, ...]
) -> Array | None:
    """[B, T] the format's segment numbers or, where the plan knows them, languages."""
    if plan.language is not None:
        return np.where(padding, 0, plan.language[index][row, text])
    return np.where(padding, 0, np.array(segments)[piece]) if any(segments) else None


def _restarting(pieces: tuple[int | None, ...], begin: Array, row: Array, column: Array, text: Array) -> Array:
    """[B, T] positions that begin again with each text after the first (XLM §3.3)."""
    texts = [number for number, piece in enumerate(pieces) if piece is None]
    first = begin[:, texts].copy()
    first[:, 0] = 0
    return column - first[row, text]


def _sentences(store: Store, there: Array, special: NDArray[np.bool_]) -> Array:
    """[B, T] which sentence of its row each token belongs to, from 0; -1 at special tokens."""
    number = np.searchsorted(store.sentence_start, there, side="right")
    last = np.maximum.accumulate(np.where(special, -1, np.arange(special.shape[1])), axis=1)  # the text token at or before each
    before = np.concatenate([np.full((len(last), 1), -1), last[:, :-1]], axis=1)
    begins = ~special & ((before < 0) | (number != np.take_along_axis(number, np.maximum(before, 0), axis=1)))
    return np.where(special, -1, np.cumsum(begins, axis=1) - 1)


@dataclass(frozen=True, kw_only=True)
class Collator:
    """Makes the batch of some rows; objectives are named so that each head finds its labels."""

    noise: Noise
    alphabet: Alphabet
    token_objectives: tuple[str, ...]
    other_objectives: tuple[tuple[str, str], ...] = ()  # objective, and which of the noise's further questions it answers
    sentence_objectives: tuple[str, ...] = ()
    row_objectives: tuple[str, ...] = ()  # those of them that read every token of the row
    reads_last: bool = False  # the class token stands last (XLNet)
    narrow: bool = True  # say which positions are read, so that the last block may skip the others

    def __call__(self, rows: Rows, draws: Draws) -> Batch:
        aim = self.noise(rows, draws, self.alphabet)
        made = self._batch(aim, rows)
        if self.noise.target.streams:
            return narrowed(made, aim.query, always=True)
        return narrowed(made) if self.narrow else made

    def _batch(self, aim: Aim, rows: Rows) -> Batch:
        batch, time = aim.shown.shape
        asked = SecondQuestion(where=aim.where, what=aim.what)
        labels = dict.fromkeys(self.token_objectives, _target(asked)) if self.token_objectives else {}
        labels |= {name: _target(aim.others[question]) for name, question in self.other_objectives}
        if self.sentence_objectives and rows.label is not None:
            place = aim.length - 1 if self.reads_last else np.zeros(batch, np.int64)
            first = Target(index=np.arange(batch, dtype=np.int64) * time + place, value=rows.label)
            labels |= dict.fromkeys(self.sentence_objectives, first)
            if self.row_objectives:
                context = np.arange(batch * time, dtype=np.int64).reshape(batch, time)
                labels |= dict.fromkeys(self.row_objectives, replace(first, context=context, feature=aim.length))
        segment = aim.segment
        if segment is None and rows.segment is not None and aim.source is None:
            segment = rows.segment[:, :time]
        order, rank = self._order(aim, segment)
        return Batch(
            tokens=aim.shown,
            length=_padded(aim.length, time),
            order=order,
            rank=rank,
            until=aim.until,
            position=rows.position[:, :time] if aim.position is None and aim.source is None and rows.position is not None else aim.position,
            within=aim.within,
            segment=self._numbered(segment, aim.shown.shape),
            labels=labels,
            named={name: values[:, :time] for name, values in rows.named.items()} | aim.named,
            backward=rows.backward,
            source=self._source(aim),
        )

    def _numbered(self, segment: Array | None, shape: tuple[int, ...]) -> Array | None:
        """The texts' segments under the numbers that this noise gives them."""
        if not self.noise.segments:
            return segment
        return np.array(self.noise.segments)[np.zeros(shape, np.int64) if segment is None else segment]

    @staticmethod
    def _source(aim: Aim) -> Batch | None:
        source = aim.source
        if source is None:
            return None
        return Batch(tokens=source.tokens, length=_padded(source.length, source.tokens.shape[1]), segment=source.segment)

    def _order(self, aim: Aim, segment: Array | None) -> tuple[Order, Array | None]:
        """Full and causal stay what they are; every other order is written as rank."""
        if aim.rank is not None:
            return Order.RANKED, aim.rank
        order = Order.CAUSAL if aim.source is not None and self.noise.target.decoder else self.noise.order
        steps = np.broadcast_to(np.arange(aim.shown.shape[1], dtype=np.int64), aim.shown.shape)
        if order is Order.REVERSED:
            return Order.RANKED, np.ascontiguousarray(aim.shown.shape[1] - steps)
        if order is Order.PREFIX:
            assert segment is not None, "a prefix order has two texts, so there are segments"
            return Order.RANKED, np.where(segment > 0, steps, 0)
        return order, None


def _padded(length: Array, time: int) -> Array | None:
    """Lengths, where any row is padded."""
    return length if bool((length < time).any()) else None


def _target(answer: SecondQuestion) -> Target:
    index = np.flatnonzero(answer.where)
    time = answer.where.shape[1]
    context = feature = None
    if answer.context is not None:
        context = answer.context.reshape(-1, answer.context.shape[2])[index] + (index // time * time)[:, None]
    if answer.feature is not None:
        feature = answer.feature.ravel()[index]
    return Target(index=index, value=answer.what.ravel()[index], whole=len(index) == answer.where.size, context=context, feature=feature)


def narrowed(batch: Batch, query: Array | None = None, *, always: bool = False) -> Batch:
    """Say which positions the labels read, and point the labels there; nothing to gain where most are read."""
    rows, time = batch.tokens.shape
    wanted = np.zeros(rows * time, bool)
    for target in batch.labels.values():
        wanted[target.index] = True
        if target.context is not None:
            wanted[target.context.ravel()] = True
    count = wanted.reshape(rows, time).sum(1)
    most = max(int(count.max()), 1)
    if most > time // 2 and not always:
        return batch
    flat = np.flatnonzero(wanted)
    slot_in_row = np.arange(len(flat)) - np.repeat(np.cumsum(count) - count, count)
    read = np.zeros((rows, most), np.int64)
    read[flat // time, slot_in_row] = flat % time
    slot = np.zeros(rows * time, np.int64)
    slot[flat] = (flat // time) * most + slot_in_row
    labels = {
        name: replace(target, slot=slot[target.index], whole=False, context=None if target.context is None else slot[target.context])
        for name, target in batch.labels.items()
    }
    shown = None if query is None else np.take_along_axis(query, read, axis=1)
    return replace(batch, read=read, query=shown, labels=labels)
