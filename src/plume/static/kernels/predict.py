"""One prediction of word2vec and fastText: which output rows, their scores, the step; and how sentences are read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.static.kernels.sampling import HALF, following, helper, noise_word
from plume.static.kernels.vector import dot, update
from plume.static.text import LONGEST_SENTENCE

_EDGE, _PLACES = 6.0, 1000  # word2vec.c: MAX_EXP, EXP_TABLE_SIZE
_GRID = ((np.arange(_PLACES + 1) / _PLACES) * 2 - 1) * _EDGE
_SIGMOID = np.where(np.abs(_GRID) < _EDGE, 1 / (1 + np.exp(-_GRID)), _GRID > 0).astype(np.float32)
_MIDDLE = _GRID + _EDGE / _PLACES  # the loss that is shown is that at the middle of a cell
_LOSS_TRUE, _LOSS_FALSE = (np.log1p(np.exp(sign * _MIDDLE)).astype(np.float32) for sign in (-1, 1))
_SCALE = np.float32(_PLACES / _EDGE / 2)


class Targets(NamedTuple):
    """How a word is predicted."""

    negatives: int  # 0: hierarchical softmax
    redraw: bool  # a negative that is the target itself: drawn again (fastText) or left out (word2vec)
    threshold: NDArray[np.uint32]
    alias: NDArray[np.int32]
    begin: NDArray[np.int64]
    points: NDArray[np.int32]
    labels: NDArray[np.float32]


class Inputs(NamedTuple):
    """A word's rows of the input matrix: rows[begin[w]:begin[w + 1]]."""

    begin: NDArray[np.int64]
    rows: NDArray[np.int32]
    echo: NDArray[np.float32]  # [V] how far the mean of a word's rows moves when each takes a step of 1: 1, or more if a row is there twice


class Share(NamedTuple):
    """Sentences, and how to walk over them."""

    ids: NDArray[np.int32]
    start: NDArray[np.int64]
    keep: NDArray[np.uint32]
    window: int
    first_rate: np.float32
    last_rate: np.float32
    seed: np.uint64


class Scratch(NamedTuple):
    """A thread's own room."""

    sentence: NDArray[np.int32]
    offsets: NDArray[np.int64]  # of the output rows of one prediction
    labels: NDArray[np.float32]
    steps: NDArray[np.float32]
    hidden: NDArray[np.float32]
    error: NDArray[np.float32]
    step: NDArray[np.float32]


def scratch(targets: Targets, width: int) -> Scratch:
    """Room for one prediction, made once a thread."""
    longest = targets.negatives + 1 if targets.negatives else int(np.diff(targets.begin).max())
    single = [np.zeros(longest, np.float32) for _ in range(2)]
    vectors = [np.zeros(width, np.float32) for _ in range(3)]
    return Scratch(np.zeros(LONGEST_SENTENCE, np.int32), np.zeros(longest, np.int64), *single, *vectors)


@helper
def choose(word, targets, room, state, width):  # type: ignore[no-untyped-def]
    """Write the output rows of one prediction and what they should say; how many, and the generator's state."""
    if targets.negatives == 0:
        begin = targets.begin[word]
        count = targets.begin[word + 1] - begin
        for place in range(count):
            room.offsets[place] = np.int64(targets.points[begin + place]) * width
            room.labels[place] = targets.labels[begin + place]
        return count, state
    room.offsets[0], room.labels[0] = word * width, np.float32(1)
    count = 1
    for _ in range(targets.negatives):
        state = following(state)
        drawn = noise_word(state, targets.threshold, targets.alias)
        while targets.redraw and drawn == word:
            state = following(state)
            drawn = noise_word(state, targets.threshold, targets.alias)
        if drawn != word:
            room.offsets[count], room.labels[count] = drawn * width, np.float32(0)
            count += 1
    return count, state


@helper
def predict(hidden, hidden_offset, error, error_offset, output, count, hierarchical, room, rate, width):  # type: ignore[no-untyped-def]
    """One prediction: its loss; if `rate` is above 0, the step of the output rows, and that of the input added to `error`."""
    loss = np.float32(0)
    for place in range(count):
        score = dot(hidden, hidden_offset, output, room.offsets[place], width)
        label = room.labels[place]
        # Outside ±6 word2vec.c takes the sigmoid as 0 or 1; in hierarchical softmax it leaves such a node alone.
        inside = min(max(score, np.float32(-_EDGE)), np.float32(_EDGE))
        cell = np.int64((inside + np.float32(_EDGE)) * _SCALE)
        loss += _LOSS_TRUE[cell] if label > np.float32(0.5) else _LOSS_FALSE[cell]
        step = label - _SIGMOID[cell]
        if hierarchical and inside != score:
            step = np.float32(0)
        room.steps[place] = step * rate
    if rate > 0:
        update(hidden, hidden_offset, error, error_offset, output, room.offsets, room.steps, count, width)
    return loss


@helper
def read(share, place, end, room, state):  # type: ignore[no-untyped-def]
    """The next words that subsampling leaves, before any window is laid; how many, where reading stopped, the state."""
    length = 0
    while place < end and length < LONGEST_SENTENCE:
        word = share.ids[place]
        place += 1
        state = following(state)
        if np.uint32(state >> HALF) <= share.keep[word]:
            room.sentence[length] = word
            length += 1
    return length, place, state


@helper
def rate_at(share, place):  # type: ignore[no-untyped-def]
    """The learning rate at a place of the share: it falls linearly."""
    return share.first_rate + (share.last_rate - share.first_rate) * np.float32(place) / np.float32(len(share.ids))
