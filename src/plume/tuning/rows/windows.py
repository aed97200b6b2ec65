"""Long texts in windows: where to cut them, which window speaks for a token, and the best answer of a question over all its windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError

LARGEST = 1 << 21  # spans looked at together: bounds the memory
BESIDE = 2  # windows without the answer that are learned from, for each that holds it; so many at least of each text


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An answer found in a context."""

    start: int  # in characters of the context; 0, 0: there is no answer
    end: int
    score: float  # how sure, from 0 to 1, among the best candidates
    no_answer: float  # logits of "no answer"; -inf where no window has a place for it
    span: float  # logits of the best span, answered or not; -inf where there is none


def windows(length: int, *, room: int, stride: int) -> list[tuple[int, int]]:
    """Where windows of `room` tokens begin and end, each with the last `stride` tokens of the one before. An empty text has one, empty.

    >>> windows(11, room=6, stride=2)
    [(0, 6), (4, 10), (8, 11)]
    """
    if not 0 <= stride < room:
        raise PlumeError(f"Windows of {room} tokens cannot overlap by {stride}: choose a smaller stride, or a longer length for the model.")
    starts = range(0, max(length - stride, 1), room - stride)
    return [(start, min(start + room, length)) for start in starts]


def drawn_windows(example: NDArray[np.integer], holds: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.int64]:
    """Which windows an epoch of training reads: of each example those that hold its answer, and beside them so many of the others.

    A long text has dozens of windows and its answer in one: read all of them, and what is learned is that there is never an answer. BERT for Natural
    Questions keeps one in fifty of the others (Alberti et al., arXiv:1901.08634).

    >>> drawn_windows(np.array([0, 0, 0, 0, 0, 1]), np.array([0, 1, 0, 0, 0, 0], bool), np.random.default_rng(0)).tolist()
    [1, 2, 3, 5]
    """
    order = np.lexsort((generator.random(len(example)), ~holds, example))
    first = np.searchsorted(example[order], example[order])
    held = np.bincount(example, holds, minlength=1)[example[order]]
    rank = np.arange(len(order)) - first
    return np.sort(order[rank < held + np.maximum(BESIDE * held, BESIDE)])


def owner_window(bounds: list[tuple[int, int]], length: int) -> NDArray[np.int64]:
    """For each token the window that sees most on the poorer side of it; -1 where no window holds it.

    The score is run_squad.py's of BERT: the smaller of what is left and right, and a hundredth of the window's length; the first of equals.

    >>> owner_window([(0, 6), (4, 10)], 10).tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    owner = np.full(length, -1, np.int64)
    best = np.full(length, -1.0)
    for window, (start, end) in enumerate(bounds):
        left = np.arange(end - start)
        score = np.minimum(left, left[::-1]) + 0.01 * (end - start)
        better = score > best[start:end]
        owner[start:end][better] = window
        best[start:end][better] = score[better]
    return owner


def best_answers(
    *,
    start: NDArray[np.floating],
    end: NDArray[np.floating],
    allowed: NDArray[np.bool_],
    window_example: NDArray[np.integer],
    null: NDArray[np.integer],
    character_start: NDArray[np.integer],
    character_end: NDArray[np.integer],
    longest: int,
    top: int = 20,
    threshold: float = 0.0,
) -> list[Answered]:
    """The best answer of each example 0, 1, … over all its windows, which are the rows of the arrays [W, T].

    A span has both its ends among the `allowed` tokens of one window, and at most `longest` tokens. `null` is the position in each
    window that stands for "no answer", or -1. As in SQuAD 2.0 (run_squad.py of BERT), "no answer" has the lowest score that any of the windows
    gives it, as each but one is right to find nothing, and is the answer if that is more than `threshold` above the best span.
    Scores are a softmax over the `top` spans and "no answer".
    """
    count = int(window_example.max()) + 1 if len(window_example) else 0
    nothing = _no_answer(start, end, null=null, window_example=window_example, count=count)
    row, first, last, span = _best_spans(start, end, allowed, longest=longest, top=top)
    example, begin, stop = window_example[row], character_start[row, first], character_end[row, last]
    # The best first; of equals that of the earlier window, the earlier in it, the shorter. What two windows found is one candidate.
    order = np.lexsort((last, first, row, -span, example))
    order = order[_unseen(example[order], begin[order], stop[order])]
    example, begin, stop, span = example[order], begin[order], stop[order], span[order]
    rank = np.arange(len(example)) - np.searchsorted(example, example)

    table = np.full((count, top + 1), -np.inf)  # the spans of each example, and behind them "no answer"
    table[example[rank < top], rank[rank < top]] = span[rank < top]
    table[:, top] = nothing
    best = table[:, 0]
    with np.errstate(invalid="ignore"):  # infinite thresholds
        none = np.isneginf(best) | (nothing > best + threshold)
    chance = _softmax(table)
    score = np.where(none, chance[:, top], chance[:, 0])
    place = np.zeros((count, 2), np.int64)
    place[example[rank == 0]] = np.stack([begin, stop], axis=1)[rank == 0]
    place[none] = 0
    return [
        Answered(start=begin, end=stop, score=score, no_answer=no_answer, span=span)
        for (begin, stop), score, no_answer, span in zip(place.tolist(), score.tolist(), nothing.tolist(), best.tolist(), strict=True)
    ]


def _no_answer(
    start: NDArray[np.floating], end: NDArray[np.floating], *, null: NDArray[np.integer], window_example: NDArray[np.integer], count: int
) -> NDArray[np.float64]:
    lowest = np.full(count, np.inf)
    row = np.flatnonzero(null >= 0)
    np.minimum.at(lowest, window_example[row], start[row, null[row]].astype(np.float64) + end[row, null[row]])
    lowest[np.isposinf(lowest)] = -np.inf
    return lowest


def _best_spans(
    start: NDArray[np.floating], end: NDArray[np.floating], allowed: NDArray[np.bool_], *, longest: int, top: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Window, first token, last token and logits of the `top` spans of every window.

    Their starts are among the `top` starts whose best span is best: were one of another start among the best, those would all be better.
    So only top * longest spans of a window are looked at, and none is missed.
    """
    width = start.shape[1]
    longest = min(longest, width)
    size = max(1, LARGEST // max(1, min(top, width) * longest, width))
    found = []
    for block in range(0, len(start), size):
        rows = slice(block, block + size)
        starts = np.where(allowed[rows], start[rows], -np.inf).astype(np.float64)
        ends = np.where(allowed[rows], end[rows], -np.inf).astype(np.float64)
        first = np.sort(_largest(starts + _maximum_ahead(ends, longest), top), axis=1)
        beyond = np.pad(ends, ((0, 0), (0, longest)), constant_values=-np.inf)
        line = np.arange(len(starts))[:, None]
        spans = starts[line, first][:, :, None] + beyond[line[:, :, None], first[:, :, None] + np.arange(longest)]
        spans = spans.reshape(len(starts), -1)
        chosen = _largest(spans, top)
        value = np.take_along_axis(spans, chosen, axis=1)
        row, column = np.nonzero(value > -np.inf)
        which, ahead = np.divmod(chosen[row, column], max(longest, 1))
        found.append((row + block, first[row, which], first[row, which] + ahead, value[row, column]))
    if not found:
        empty = np.empty(0, np.int64)
        return empty, empty, empty, np.empty(0)
    row, first, last, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return row, first, last, value


def _largest(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Where each row has its largest values; of equals the first."""
    return np.argsort(-values, axis=1, kind="stable")[:, :count]


def _maximum_ahead(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """At each place the maximum of the `width` values from there on, by doubling the reach."""
    best, reach = values.copy(), 1
    while reach < width:
        step = min(reach, width - reach)
        best[:, :-step] = np.maximum(best[:, :-step], best[:, step:])
        reach += step
    return best


def _unseen(*keys: NDArray[np.integer]) -> NDArray[np.int64]:
    """The first place of every combination of keys, in order."""
    order = np.lexsort((np.arange(len(keys[0])), *keys))
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    return np.sort(order[new])


def _softmax(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Along rows; one without any candidate is all 0."""
    highest = table.max(axis=1, keepdims=True)
    powers = np.exp(table - np.where(np.isfinite(highest), highest, 0.0))
    return powers / np.maximum(powers.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
