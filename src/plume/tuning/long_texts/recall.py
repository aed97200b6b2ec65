"""MemRecall: which blocks of a long text matter for a question, found round by round within the room of one row (CogLTX §2.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from plume.tuning.long_texts.buffers import Buffers, LongTexts
from plume.tuning.long_texts.words import word_scores

_SHARE = 0.4  # of a row's room, for what is remembered

Judge = Callable[[Buffers], NDArray[np.float64]]  # a score for each block of the buffers


def recall(
    texts: LongTexts, questions: Iterable[int], judge: Judge, *, rounds: int, keep: int, shortlist: int = 0, words: float = 0.0
) -> dict[int, list[int]]:
    """Of each question the blocks that are to be read together.

    A round scores all blocks in windows, each beside what is remembered so far, and fills a row with the best; these are scored again, together,
    and the best `keep` of them are remembered. The last round keeps all that fits. With `shortlist` only so many blocks are looked at, those that
    share most words with the question; `words` weighs those beside the judge.
    """
    questions = list(questions)
    memory: dict[int, list[int]] = {number: list(map(int, texts.of(number))) for number in questions if texts.fits(number)}
    open_ = [number for number in questions if number not in memory]
    looked = {number: candidates(texts, number, shortlist) for number in open_}
    kept: dict[int, list[int]] = {number: [] for number in open_}
    beside = {number: shared_words(texts, number, words) for number in open_}
    for turn in range(rounds):
        if not open_:
            break
        scores = scores_of(windows_of(texts, looked, kept), judge)
        filled = {number: texts.fill(number, [*kept[number], *best(scores[number], beside[number])]) for number in open_}
        if turn == rounds - 1:
            return memory | filled
        again = scores_of([(number, filled[number]) for number in open_], judge)
        kept = {number: _remembered(texts, number, best(again[number], beside[number])[:keep]) for number in open_}
    return memory


def _remembered(texts: LongTexts, number: int, blocks: list[int]) -> list[int]:
    """Of the best blocks those that take two fifths of the room at most, as three of the authors' 63 tokens in 512 do: in shorter rows the next round
    would hardly read anything beside them. One at least."""
    return texts.fill(number, blocks, int(texts.room[number] * _SHARE)) or blocks[:1]


def candidates(texts: LongTexts, number: int, shortlist: int) -> list[int]:
    """The blocks that a judge looks at: all of the text, or those with most of the question's words, in the text's order."""
    every = texts.of(number)
    if not shortlist or len(every) <= shortlist:
        return list(map(int, every))
    order = np.argsort(-word_scores(texts.question(number), [texts.tokens(block) for block in every]), kind="stable")
    return sorted(map(int, every[order[:shortlist]]))


def windows_of(texts: LongTexts, looked: dict[int, list[int]], kept: dict[int, list[int]]) -> list[tuple[int, list[int]]]:
    """Rows that hold every block that is looked at once, in the text's order, each behind what is kept."""
    rows: list[tuple[int, list[int]]] = []
    size = texts.size
    for number, blocks in looked.items():
        memory = kept[number]
        room = int(texts.room[number]) - int(size[memory].sum() if memory else 0)
        row: list[int] = []
        left = room
        for block in blocks:
            if block in memory:
                continue
            if row and size[block] > left:
                rows.append((number, [*memory, *row]))
                row, left = [], room
            if size[block] <= left:  # what does not fit beside the memory is not read in this round
                row.append(block)
                left -= int(size[block])
        if row or not blocks:
            rows.append((number, [*memory, *row]))
    return rows


def scores_of(rows: Sequence[tuple[int, Iterable[int]]], judge: Judge) -> dict[int, dict[int, float]]:
    """Of each question its blocks' scores; of a block that was read several times, as what is remembered is, the mean."""
    buffers = Buffers.of(rows)
    found: dict[int, dict[int, list[float]]] = {int(number): {} for number in buffers.owner}
    owner = np.repeat(buffers.owner, np.diff(buffers.bounds))
    for number, block, score in zip(owner.tolist(), buffers.block.tolist(), judge(buffers).tolist(), strict=True):
        found[number].setdefault(block, []).append(score)
    return {number: {block: float(np.mean(some)) for block, some in blocks.items()} for number, blocks in found.items()}


def shared_words(texts: LongTexts, number: int, weight: float) -> dict[int, float]:
    """Of each block of a question's text its BM25, as a share of the best block's, times the weight; nothing where that is 0."""
    if not weight:
        return {}
    every = texts.of(number)
    scores = word_scores(texts.question(number), [texts.tokens(block) for block in every])
    return dict(zip(every.tolist(), (weight * scores / max(float(scores.max(initial=0)), 1e-9)).tolist(), strict=True))


def best(scores: dict[int, float], beside: Mapping[int, float]) -> list[int]:
    """Blocks by their scores and what else speaks for them, the best first; of equals the earlier in the text."""
    return sorted(scores, key=lambda block: (-scores[block] - beside.get(block, 0.0), block))
