"""Groups of texts as rows of tokens, from which batches come: row k · n + g of a batch is text k of group g of n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from plume.core.batch import Batch, Order, Target
from plume.readers.example import Example
from plume.sentences.grouping import Grouped
from plume.tuning.rows.questions import Floats, Questions, one_each
from plume.tuning.rows.rows import Array, Coder, Stretch, TextRows, runs, shortened

CONTRAST, TOKENS = "contrast", "tokens"  # the losses, by name


@dataclass(frozen=True, kw_only=True)
class SentenceGroups(Questions):
    """`rows` are the different texts; a group names K of them, which may be one text twice."""

    member: Array  # [G, K] rows
    text: Array  # [R] equal numbers: equal texts
    score: Floats  # [G]
    taught: Floats | None = None  # [G, D] what a teacher makes of the text, where one teaches

    def __len__(self) -> int:
        return len(self.member)

    @property
    def length(self) -> Array:
        return self.rows.length[self.member].max(1)

    def rows_of(self, index: Array) -> Array:
        return self.member[index].T.ravel()

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        taught = None if self.taught is None else self.taught[index]
        return replace(batch, labels={CONTRAST: Target(index=self.text[picked], value=self.score[index], feature=taught)})


@dataclass(frozen=True, kw_only=True)
class WrittenGroups(SentenceGroups):
    """Rows of two texts: the first is read as a whole, the second is written after it, token by token (UniLM's prefix order)."""

    written: Array  # [total] 1 at the tokens of the second text and the one that closes it

    complete: ClassVar[bool] = True

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        batch = super()._asked(batch, index, picked)
        written = self.rows.padded(self.written, picked, 0)
        where = np.flatnonzero(np.pad(written[:, 1:], ((0, 0), (0, 1))))  # the place before each is asked for it
        target = Target(index=where, value=batch.tokens.ravel()[where + 1])
        return replace(
            batch,
            order=Order.RANKED,
            rank=np.where(written > 0, np.arange(written.shape[1]), 0),
            segment=written,
            labels=batch.labels | {TOKENS: target},
        )


def texts_as_embedded(coder: Coder) -> Coder:
    """The coder, framing a text as `embed` does: without what only tasks put behind it (GPT's last token)."""
    coder.single = coder.tokenizer.format.single
    return coder


def lay_out(grouped: Grouped, coder: Coder) -> tuple[SentenceGroups, list[str]]:
    """Every text once, cut to the coder's length; and what was lost, in words."""
    numbers, cut, kept = _numbered(grouped, coder)
    room = coder.room(1)
    rows = coder.lay_out(shortened(cut, room))
    groups = SentenceGroups(
        name=CONTRAST, rows=rows, groups=one_each(len(rows)), member=numbers[kept], text=np.arange(len(rows)),
        score=np.array(grouped.score, np.float32)[kept],
    )  # fmt: skip
    return groups, _lost(cut, room, kept)


def lay_out_written(grouped: Grouped, coder: Coder) -> tuple[WrittenGroups, list[str]]:
    """Each pair as two rows: the first text, framed, then the second and the token that closes it; and the other way round."""
    numbers, cut, kept = _numbered(grouped, coder)
    specials = coder.length - coder.room(1)
    room = (coder.length - specials - 1) // 2
    member = numbers[kept]
    each = shortened(cut, room)
    first, second = np.concatenate([member[:, 0], member[:, 1]]), np.concatenate([member[:, 1], member[:, 0]])
    read, write = coder.lay_out(each.of(first)), each.of(second)
    rows, written = _joined(read, write, coder.tokenizer.separator)
    pairs = len(member)
    groups = WrittenGroups(
        name=CONTRAST, rows=rows, groups=one_each(len(rows)), member=np.stack([np.arange(pairs), pairs + np.arange(pairs)], 1), text=first,
        score=np.array(grouped.score, np.float32)[kept], written=written,
    )  # fmt: skip
    return groups, _lost(cut, room, kept)


def _numbered(grouped: Grouped, coder: Coder) -> tuple[Array, Stretch, Array]:
    """[G, K] the number of each text, all texts cut into tokens, and the groups all of whose texts have some."""
    known: dict[str, int] = {}
    numbers = np.array([[known.setdefault(text, len(known)) for text in texts] for texts in grouped.texts])
    (cut,) = coder.texts([Example(texts=(text,)) for text in known])
    return numbers, cut, np.flatnonzero((cut.end > cut.begin)[numbers].all(1))


def _lost(cut: Stretch, room: int, kept: Array) -> list[str]:
    longer = int((cut.end - cut.begin > room).sum())
    return [f"{longer:,} texts are cut to {room} tokens"] if longer else []


def _joined(read: TextRows, write: Stretch, separator: int) -> tuple[TextRows, Array]:
    """Rows with the second text and a separator behind them, and where those stand."""
    more = write.end - write.begin + 1
    size = read.length + more
    bounds = np.concatenate([[0], np.cumsum(size)])
    tokens = np.full(int(size.sum()), separator, np.int64)
    written = np.ones(len(tokens), np.int64)
    before = runs(bounds[:-1], read.length)
    tokens[before], written[before] = read.tokens, 0
    tokens[runs(bounds[:-1] + read.length, more - 1)] = write.cut.ids[runs(write.begin, more - 1)]
    nothing = np.full(len(tokens), -1)
    return TextRows(tokens=tokens, segment=None, text=nothing, place=nothing, bounds=bounds, pad=read.pad, unseen=read.unseen), written


def chunks(batch: Batch, *, groups: int, parts: int) -> Sequence[Array]:
    """The rows of each of so many parts of a batch, whole groups in each."""
    rows = np.arange(len(batch.tokens)).reshape(-1, groups)
    return [rows[:, part::parts].ravel() for part in range(parts) if part < groups]
