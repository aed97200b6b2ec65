"""The kernels of word2vec and fastText: skip-gram and CBOW over a share of sentences.

An input is a word's rows (word2vec: its one row; fastText: its own row and those of its n-grams), a target is a word, predicted by negative
sampling or along its Huffman path. Weights are changed in place; by several threads at once, lock-free (Hogwild). With rate 0 nothing changes,
and the loss is what was asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.static.kernels_sampling import HALF, below, following, helper, loop, noise_word
from plume.static.kernels_vector import add, dot, update

LONGEST_SENTENCE = 1000  # word2vec.c: what is longer goes on as a further sentence
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
    longest = targets.negatives + 1 if targets.negatives else int(np.diff(targets.begin).max())
    single = [np.zeros(longest, np.float32) for _ in range(2)]
    vectors = [np.zeros(width, np.float32) for _ in range(3)]
    return Scratch(np.zeros(LONGEST_SENTENCE, np.int32), np.zeros(longest, np.int64), *single, *vectors)


@helper
def _choose(word, targets, room, state, width):  # type: ignore[no-untyped-def]
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
def _predict(hidden, hidden_offset, error, error_offset, output, count, hierarchical, room, rate, width):  # type: ignore[no-untyped-def]
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
def _read(share, place, end, room, state):  # type: ignore[no-untyped-def]
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
def _rate(share, place):  # type: ignore[no-untyped-def]
    return share.first_rate + (share.last_rate - share.first_rate) * np.float32(place) / np.float32(len(share.ids))


@loop
def context_skip_gram(share, targets, room, input_, output, width):  # type: ignore[no-untyped-def]
    """word2vec.c's skip-gram: the vector of each CONTEXT word predicts the centre and takes the step. Loss and number of predictions."""
    state, loss, predictions = share.seed, 0.0, 0
    for number in range(len(share.start) - 1):
        place, end = share.start[number], share.start[number + 1]
        while place < end:
            rate = _rate(share, place)
            length, place, state = _read(share, place, end, room, state)
            for centre in range(length):
                state = following(state)
                reach = share.window - below(state, share.window)  # 1 … window, each as likely
                word = np.int64(room.sentence[centre])
                for context in range(max(0, centre - reach), min(length, centre + reach + 1)):
                    if context != centre:
                        count, state = _choose(word, targets, room, state, width)
                        row = np.int64(room.sentence[context]) * width
                        loss += _predict(input_, row, input_, row, output, count, targets.negatives == 0, room, rate, width)
                        predictions += 1
    return loss, predictions


@helper
def _scale(vector, factor):  # type: ignore[no-untyped-def]
    for place in range(len(vector)):
        vector[place] *= factor


@helper
def _gather(word, inputs, room, input_, width):  # type: ignore[no-untyped-def]
    """Add a word's rows to the hidden vector; how many."""
    for place in range(inputs.begin[word], inputs.begin[word + 1]):
        add(room.hidden, 0, input_, np.int64(inputs.rows[place]) * width, np.float32(1), width)
    return inputs.begin[word + 1] - inputs.begin[word]


@helper
def _scatter(word, inputs, room, input_, scale, width):  # type: ignore[no-untyped-def]
    for place in range(inputs.begin[word], inputs.begin[word + 1]):
        add(input_, np.int64(inputs.rows[place]) * width, room.error, 0, scale, width)


@loop
def centre_skip_gram(share, targets, inputs, room, input_, output, width):  # type: ignore[no-untyped-def]
    """fastText's skip-gram: the mean of the CENTRE's rows predicts each context word, and each row takes the whole step.

    fastText averages the rows anew for every context word. Between those nothing but the word's own steps has changed them, and every row
    took the same one, so the mean moves by that step (`echo` times, where an n-gram occurs twice): rows are read and written once a centre.
    Equal but for rounding.
    """
    state, loss, predictions = share.seed, 0.0, 0
    for number in range(len(share.start) - 1):
        place, end = share.start[number], share.start[number + 1]
        while place < end:
            rate = _rate(share, place)
            length, place, state = _read(share, place, end, room, state)
            for centre in range(length):
                state = following(state)
                reach = share.window - below(state, share.window)
                word = np.int64(room.sentence[centre])
                _scale(room.hidden, np.float32(0))
                _scale(room.error, np.float32(0))
                rows = _gather(word, inputs, room, input_, width)
                _scale(room.hidden, np.float32(1) / np.float32(rows))
                for context in range(max(0, centre - reach), min(length, centre + reach + 1)):
                    if context != centre:
                        count, state = _choose(np.int64(room.sentence[context]), targets, room, state, width)
                        _scale(room.step, np.float32(0))
                        loss += _predict(room.hidden, 0, room.step, 0, output, count, targets.negatives == 0, room, rate, width)
                        add(room.hidden, 0, room.step, 0, inputs.echo[word], width)
                        add(room.error, 0, room.step, 0, np.float32(1), width)
                        predictions += 1
                if rate > 0:
                    _scatter(word, inputs, room, input_, np.float32(1), width)
    return loss, predictions


@loop
def bag_of_words(share, targets, inputs, room, input_, output, mean, width):  # type: ignore[no-untyped-def]
    """CBOW: the mean (or sum) of all rows around predicts the centre; every row takes the whole step, undivided, as in word2vec.c and fastText."""
    state, loss, predictions = share.seed, 0.0, 0
    for number in range(len(share.start) - 1):
        place, end = share.start[number], share.start[number + 1]
        while place < end:
            rate = _rate(share, place)
            length, place, state = _read(share, place, end, room, state)
            for centre in range(length):
                state = following(state)
                reach = share.window - below(state, share.window)
                first, last = max(0, centre - reach), min(length, centre + reach + 1)
                if last - first < 2:
                    continue
                _scale(room.hidden, np.float32(0))
                _scale(room.error, np.float32(0))
                rows = 0
                for context in range(first, last):
                    if context != centre:
                        rows += _gather(np.int64(room.sentence[context]), inputs, room, input_, width)
                if mean:
                    _scale(room.hidden, np.float32(1) / np.float32(rows))
                count, state = _choose(np.int64(room.sentence[centre]), targets, room, state, width)
                loss += _predict(room.hidden, 0, room.error, 0, output, count, targets.negatives == 0, room, rate, width)
                predictions += 1
                if rate > 0:
                    for context in range(first, last):
                        if context != centre:
                            _scatter(np.int64(room.sentence[context]), inputs, room, input_, np.float32(1), width)
    return loss, predictions
