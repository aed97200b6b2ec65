"""What the judge and the reader learn from: rows of blocks that matter, of blocks that look as if they did, and of any others (CogLTX §2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.text.pieces import bounds
from plume.tuning.long_texts.buffers import LongTexts
from plume.tuning.long_texts.words import word_scores
from plume.tuning.rows.rows import Array

_POOLED = 2  # rows' worth of blocks that are judged between two epochs, a question
_NEAR = 0.85  # of the best block's words: such blocks matter to begin with, where nobody says which do


@dataclass(frozen=True, kw_only=True)
class BlockPool:
    """The blocks of each question that may win a place beside the relevant ones: those with most of its words."""

    block: Array  # [N]
    bounds: Array  # [E + 1]
    words: NDArray[np.float64]  # [N] by BM25

    def of(self, number: int, values: NDArray) -> dict[int, float]:
        """A question's blocks, each with its value."""
        part = slice(self.bounds[number], self.bounds[number + 1])
        return dict(zip(self.block[part].tolist(), values[part].tolist(), strict=True))

    @property
    def places(self) -> list[tuple[int, int]]:
        """[N] the question and the block."""
        owner = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        return list(zip(owner.tolist(), self.block.tolist(), strict=True))

    @property
    def numbered(self) -> list[dict[int, int]]:
        """[E] which place each of a question's blocks has in the pool."""
        return [
            {block: first + place for place, block in enumerate(self.block[first:last].tolist())}
            for first, last in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)
        ]

    def relevant(self, state: NDArray) -> list[list[int]]:
        """[E] the blocks that something speaks for, those with most of the question's words first."""
        found = []
        for number in range(len(self.bounds) - 1):
            words, votes = self.of(number, self.words), self.of(number, state)
            found.append(sorted((block for block in words if votes[block] >= 1), key=lambda block: (-words[block], block)))
        return found

    @property
    def share(self) -> NDArray[np.float64]:
        """[N] how many of the question's words it has, of those of the best one."""
        most = np.array([self.words[a:b].max(initial=0) for a, b in zip(self.bounds[:-1], self.bounds[1:], strict=True)])
        return self.words / np.maximum(np.repeat(most, np.diff(self.bounds)), 1e-9)

    @property
    def near(self) -> NDArray[np.float64]:
        """[N] 1 for blocks with nearly as many of the question's words as the best one has."""
        return (self.share >= _NEAR).astype(np.float64)


def pool_of(texts: LongTexts) -> BlockPool:
    """As many blocks as a few rows hold."""
    blocks: list[list[int]] = []
    words: list[NDArray[np.float64]] = []
    for number in range(len(texts)):
        every = texts.of(number)
        scores = word_scores(texts.question(number), [texts.tokens(block) for block in every])
        order = np.argsort(-scores, kind="stable")
        blocks.append(texts.fill(number, every[order].tolist(), _POOLED * int(texts.room[number])))
        words.append(scores[np.array(blocks[-1], np.int64) - (every[0] if len(every) else 0)])
    return BlockPool(
        block=np.array([block for some in blocks for block in some], np.int64),
        bounds=bounds(map(len, blocks)),
        words=np.concatenate(words) if words else np.zeros(0),
    )


@dataclass(frozen=True, kw_only=True)
class LessonRow:
    """Some blocks of a question's text; `read`: the reader learns from it too."""

    question: int
    blocks: list[int]
    read: bool = True


def lesson_rows(texts: LongTexts, pool: BlockPool, scores: NDArray, relevant: Sequence[Sequence[int]], *, epoch: int) -> list[LessonRow]:
    """Of each question a row for both, what matters beside winners and chance, and one for the judge alone, of blocks that follow each other.
    A text that fits is a row. What is drawn by chance follows from the epoch."""
    chance = np.random.default_rng([epoch, len(texts)])
    rows = []
    for number in range(len(texts)):
        every = texts.of(number)
        if texts.fits(number):
            rows.append(LessonRow(question=number, blocks=every.tolist()))
            continue
        matters = texts.fill(number, relevant[number])
        won = pool.of(number, scores)
        taken = int(texts.size[matters].sum()) if matters else 0
        half = taken + (int(texts.room[number]) - taken) // 2
        some = texts.fill(number, [*matters, *sorted(won, key=lambda block: (-won[block], block))], half)
        rows.append(LessonRow(question=number, blocks=texts.fill(number, [*some, *chance.permutation(every).tolist()])))
        rows.append(LessonRow(question=number, blocks=_following(texts, number, matters, chance), read=False))
    return rows


def _following(texts: LongTexts, number: int, matters: Sequence[int], chance: np.random.Generator) -> list[int]:
    """A row of blocks that follow each other; every second time with one that matters in it."""
    every = texts.of(number)
    first = int(chance.integers(len(every)))
    if matters and chance.random() < 0.5:
        first = max(int(matters[int(chance.integers(len(matters)))] - every[0]) - int(chance.integers(3)), 0)
    within = np.cumsum(texts.size[every[first:]]) <= texts.room[number]
    found: list[int] = every[first:][within].tolist()
    return found


def answer_places(examples: Sequence[Example], texts: LongTexts) -> Array:
    """[E, 2] the first and the last token of each answer in the whole cut; -1 where there is none, or the tokenizer drops it."""
    cut = texts.told.cut
    placed = [next((one for one in example.answer if one.start >= 0), None) for example in examples]
    base = cut.character_bounds[texts.text]
    start = np.array([0 if one is None else one.start for one in placed]) + base
    after = np.array([0 if one is None else one.start + len(one.text) for one in placed]) + base
    first = np.searchsorted(np.maximum.accumulate(cut.end), start, side="right")
    last = np.searchsorted(cut.start, after, side="left") - 1
    there = np.array([one is not None for one in placed]) & (first <= last)
    return np.where(there[:, None], np.stack([first, last], axis=1), -1)


def gold_blocks(places: Array, texts: LongTexts) -> list[list[int]]:
    """The blocks that hold each answer."""
    found = np.searchsorted(texts.begin, places, side="right") - 1
    return [
        list(range(one, other + 1)) if first >= 0 else [] for (one, other), (first, _) in zip(found.tolist(), places.tolist(), strict=True)
    ]


def require_answers(examples: Sequence[Example], name: str) -> None:
    """Raise where nothing can be learned."""
    if not any(example.answer for example in examples):
        raise PlumeError(f"{name}: no question has an answer that stands in its text, so nothing says which parts of a long text matter.")
