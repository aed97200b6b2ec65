"""Rows of a question and some blocks of its text, in the text's order; and every token's way back to where it came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch
from plume.heads.judged_span import APART, NULL, OUTSIDE, RELEVANT
from plume.readers.example import Example
from plume.text.pieces import bounds
from plume.tuning.kinds.answering import ContextQuestions
from plume.tuning.long_texts.blocks import blocks_of
from plume.tuning.rows.questions import one_each
from plume.tuning.rows.rows import Array, Coder, Stretch, runs, shortened
from plume.tuning.rows.windows import LARGEST

_SHARE = 4  # a block has at most this part of a row, so that several can be compared in one


@dataclass(frozen=True, kw_only=True)
class LongTexts:
    """Questions, and the blocks of the texts that they are about; a text is cut once, however many questions are about it."""

    asked: Stretch  # [E] the questions
    told: Stretch  # [E] the texts
    text: Array  # [E] which of the different texts
    begin: Array  # [K + 1] the first token of each block, and where the last ends
    blocks: Array  # [texts + 1] bounds of each text's blocks
    room: Array  # [E] tokens of text that a row holds beside the question

    def __len__(self) -> int:
        return len(self.text)

    @property
    def size(self) -> Array:
        """[K] tokens of each block."""
        return np.diff(self.begin)

    def of(self, number: int) -> Array:
        """The blocks of this question's text."""
        text = self.text[number]
        return np.arange(self.blocks[text], self.blocks[text + 1])

    def fits(self, number: int) -> bool:
        """Does a row hold the whole text?"""
        text = self.text[number]
        return bool(self.begin[self.blocks[text + 1]] - self.begin[self.blocks[text]] <= self.room[number])

    def question(self, number: int) -> Array:
        """The token ids of a question."""
        return self.asked.cut.ids[self.asked.begin[number] : self.asked.end[number]]

    def tokens(self, block: int) -> Array:
        """The token ids of a block."""
        return self.told.cut.ids[self.begin[block] : self.begin[block + 1]]

    def fill(self, number: int, wanted: Iterable[int], room: int | None = None) -> list[int]:
        """The first of the wanted blocks as far as they fit, each once."""
        left = int(self.room[number]) if room is None else room
        found: dict[int, None] = {}
        for block in wanted:
            size = int(self.begin[block + 1] - self.begin[block])
            if block not in found and size <= left:
                found[block] = None
                left -= size
        return list(found)

    def place(self, block: int) -> tuple[int, int]:
        """Where a block stands in its text, in characters."""
        cut, first, last = self.told.cut, int(self.begin[block]), int(self.begin[block + 1])
        base = int(cut.character_bounds[np.searchsorted(cut.token_bounds, first, side="right") - 1])
        return int(cut.start[first]) - base, int(cut.end[first:last].max()) - base


def long_texts(examples: Sequence[Example], coder: Coder, *, longest_question: int, block: int) -> tuple[LongTexts, int]:
    """The examples' questions and texts; and how many questions had to be cut."""
    number: dict[str, int] = {}
    text = np.array([number.setdefault(one.texts[1], len(number)) for one in examples])
    first = {int(place): example for place, example in zip(reversed(text), reversed(examples), strict=True)}
    (asked,) = coder.texts([replace(one, texts=one.texts[:1], languages=one.languages[:1]) for one in examples])
    (told,) = coder.texts([replace(first[place], texts=(one,), languages=first[place].languages[1:]) for one, place in number.items()])
    most = min(longest_question, coder.room(2) // 2)
    block = min(block, max(coder.room(2) // _SHARE, 2))
    lost = int((asked.end - asked.begin > most).sum())
    asked = shortened(asked, most)
    room = coder.room(2) - (asked.end - asked.begin)
    begin, blocks = blocks_of(list(number), told.cut, block)
    return LongTexts(asked=asked, told=told.of(text), text=text, begin=begin, blocks=blocks, room=room), lost


@dataclass(frozen=True, kw_only=True)
class Buffers:
    """What is read together: of each row whose question it answers, and which blocks."""

    owner: Array  # [R] into the questions
    block: Array  # [N]
    bounds: Array  # [R + 1]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, Iterable[int]]]) -> Buffers:
        """From pairs of a question and its blocks, which are put into the text's order."""
        chosen = [sorted(blocks) for _, blocks in rows]
        return cls(
            owner=np.array([number for number, _ in rows], np.int64),
            block=np.array([block for some in chosen for block in some], np.int64),
            bounds=bounds(map(len, chosen)),
        )


@dataclass(frozen=True, kw_only=True)
class JudgedQuestions(ContextQuestions):
    """Rows of blocks, of which some matter. `context` holds the rows' tokens of text, one row behind the other."""

    kinds: Array  # [total] what the head is told of each token
    run: Array  # [len(context.ids)] tokens of one number follow each other in the text
    base: Array  # [R] where the row's text begins in all texts put together, in characters
    buffers: Buffers
    sizes: Array  # [N] tokens of each of the buffers' blocks
    hidden: Array | None = None  # [total] 1: nobody else sees this token; None: everyone sees all

    def drawn(self, generator: np.random.Generator) -> Array:
        """All: they were chosen row by row."""
        return np.arange(len(self))

    def _asked(self, batch: Batch, index: Array, picked: Array) -> Batch:
        batch = super()._asked(batch, index, picked)
        feature = self.rows.padded(self.kinds, picked, OUTSIDE)
        if self.hidden is not None:
            batch = replace(batch, document=self.rows.padded(self.hidden, picked, 0))
        return replace(batch, labels={name: replace(target, feature=feature) for name, target in batch.labels.items()})

    def without(self, block: Array) -> JudgedQuestions:
        """The same where each row [R] hides one of its blocks from all other tokens: what is of another document is not seen."""
        gone = self.buffers.block == np.repeat(block, np.diff(self.buffers.bounds))
        hidden = np.zeros(len(self.rows.tokens), np.int64)
        hidden[np.flatnonzero(self.rows.text == 1)[np.repeat(gone, self.sizes)]] = 1
        return replace(self, hidden=hidden)

    def judged(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """[N] what the judge gives each block: the mean over its tokens (CogLTX §2.1)."""
        each = 1 / (1 + np.exp(-table[self.rows.text == 1, 2].astype(np.float64)))
        if not len(self.sizes):
            return np.zeros(0)
        return np.asarray(np.add.reduceat(each, np.cumsum(self.sizes) - self.sizes) / self.sizes)


def lay_out_buffers(
    name: str,
    texts: LongTexts,
    buffers: Buffers,
    coder: Coder,
    *,
    relevant: Sequence[Iterable[int]] | None = None,
    value: Array | None = None,
) -> JudgedQuestions:
    """`relevant` are each question's blocks that matter; `value` [R, 2] the answer's first and last token, counted in the whole cut, or negative:
    -1 where the row does not hold it, `UNREAD` where the row is for the judge alone."""
    context = texts.told.cut
    size = texts.size[buffers.block]
    source = runs(texts.begin[buffers.block], size)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])[buffers.bounds]
    parts = replace(
        context,
        ids=context.ids[source],
        word_start=context.word_start[source],
        start=context.start[source],
        end=context.end[source],
        token_bounds=ends,
    )
    told = Stretch(
        cut=parts, begin=ends[:-1], end=ends[1:], language=None if texts.told.language is None else texts.told.language[buffers.owner]
    )
    rows = coder.lay_out(texts.asked.of(buffers.owner), told)
    null = coder.summary(rows)
    allowed = rows.text == 1
    kinds = np.where(allowed, APART, OUTSIDE)
    if relevant is not None:
        matters = [set(map(int, some)) for some in relevant]
        owner = np.repeat(buffers.owner, np.diff(buffers.bounds))
        found = np.array([block in matters[one] for block, one in zip(buffers.block.tolist(), owner.tolist(), strict=True)], bool)
        kinds[np.flatnonzero(allowed)[np.repeat(found, size)]] = RELEVANT
    place = rows.bounds[:-1] + null
    allowed[place], kinds[place] = True, NULL
    breaks = np.diff(source, prepend=-2) != 1
    breaks[ends[:-1][np.diff(ends) > 0]] = True
    return JudgedQuestions(
        name=name, rows=rows, groups=one_each(len(rows)), allowed=allowed, null=null, window_example=buffers.owner, context=parts,
        value=None if value is None else _columns(value, source, ends, rows.bounds, np.flatnonzero(rows.text == 1), null),
        kinds=kinds, run=np.cumsum(breaks), base=context.character_bounds[texts.text[buffers.owner]], buffers=buffers, sizes=size,
    )  # fmt: skip


def _columns(value: Array, source: Array, ends: Array, row_bounds: Array, flat: Array, null: Array) -> Array:
    """[R, 2] columns of the rows; that of "no answer" where a row lacks some of it."""
    found = np.where(value < -1, value, null[:, None])
    for row, (first, last) in enumerate(value.tolist()):
        if first < 0:
            continue
        here = source[ends[row] : ends[row + 1]]
        one, other = np.searchsorted(here, [first, last]).tolist()
        if other < len(here) and here[one] == first and here[other] == last and other - one == last - first:
            found[row] = flat[ends[row] + np.array([one, other])] - row_bounds[row]
    return found


def by_run(questions: JudgedQuestions) -> tuple[Array, Array, Array]:
    """A line for each stretch of text that a row holds without a gap: its row, and its first and last token of `context`.
    A row without text has one, empty."""
    ends = questions.context.token_bounds
    begins = np.flatnonzero(np.diff(questions.run, prepend=-1) != 0)
    row = np.searchsorted(ends, begins, side="right") - 1
    stops = np.append(begins[1:], len(questions.run))
    bare = np.flatnonzero(np.diff(ends) == 0)
    row, begins, stops = np.concatenate([row, bare]), np.concatenate([begins, ends[bare]]), np.concatenate([stops, ends[bare]])
    order = np.lexsort((begins, row))
    return row[order], begins[order], stops[order]


def chunks(texts: LongTexts, most: int = LARGEST) -> list[Array]:
    """Questions in turns whose texts have some million tokens together, so that what is held of them is bounded."""
    length = np.maximum(texts.begin[texts.blocks[texts.text + 1]] - texts.begin[texts.blocks[texts.text]], 1)
    turn = np.cumsum(length) // most
    return np.split(np.arange(len(texts)), np.flatnonzero(np.diff(turn)) + 1)
