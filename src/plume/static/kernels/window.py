"""The kernels of word2vec and fastText: skip-gram and CBOW over a share of sentences.

An input is a word's rows (word2vec: its one row; fastText: its own row and those of its n-grams), a target is a word, predicted by negative
sampling or along its Huffman path. Weights are changed in place; by several threads at once, lock-free (Hogwild). With rate 0 nothing changes,
and the loss is what was asked for.
"""

from __future__ import annotations

import numpy as np

from plume.static.kernels.predict import choose, predict, rate_at, read
from plume.static.kernels.sampling import below, following, helper, loop
from plume.static.kernels.vector import add


@loop
def context_skip_gram(share, targets, room, input_, output, width):  # type: ignore[no-untyped-def]
    """word2vec.c's skip-gram: the vector of each CONTEXT word predicts the centre and takes the step. Loss and number of predictions."""
    state, loss, predictions = share.seed, 0.0, 0
    for number in range(len(share.start) - 1):
        place, end = share.start[number], share.start[number + 1]
        while place < end:
            rate = rate_at(share, place)
            length, place, state = read(share, place, end, room, state)
            for centre in range(length):
                state = following(state)
                reach = share.window - below(state, share.window)  # 1 … window, each as likely
                word = np.int64(room.sentence[centre])
                for context in range(max(0, centre - reach), min(length, centre + reach + 1)):
                    if context != centre:
                        count, state = choose(word, targets, room, state, width)
                        row = np.int64(room.sentence[context]) * width
                        loss += predict(input_, row, input_, row, output, count, targets.negatives == 0, room, rate, width)
                        predictions += 1
    return loss, predictions


@helper
def _clear(vector):  # type: ignore[no-untyped-def]
    for place in range(len(vector)):
        vector[place] = 0


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
            rate = rate_at(share, place)
            length, place, state = read(share, place, end, room, state)
            for centre in range(length):
                state = following(state)
                reach = share.window - below(state, share.window)
                word = np.int64(room.sentence[centre])
                _clear(room.hidden)
                _clear(room.error)
                rows = _gather(word, inputs, room, input_, width)
                _scale(room.hidden, np.float32(1) / np.float32(rows))
                for context in range(max(0, centre - reach), min(length, centre + reach + 1)):
                    if context != centre:
                        count, state = choose(np.int64(room.sentence[context]), targets, room, state, width)
                        _clear(room.step)
                        loss += predict(room.hidden, 0, room.step, 0, output, count, targets.negatives == 0, room, rate, width)
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
            rate = rate_at(share, place)
            length, place, state = read(share, place, end, room, state)
            for centre in range(length):
                state = following(state)
                reach = share.window - below(state, share.window)
                first, last = max(0, centre - reach), min(length, centre + reach + 1)
                if last - first < 2:
                    continue
                _clear(room.hidden)
                _clear(room.error)
                rows = 0
                for context in range(first, last):
                    if context != centre:
                        rows += _gather(np.int64(room.sentence[context]), inputs, room, input_, width)
                if mean:
                    _scale(room.hidden, np.float32(1) / np.float32(rows))
                count, state = choose(np.int64(room.sentence[centre]), targets, room, state, width)
                loss += predict(room.hidden, 0, room.error, 0, output, count, targets.negatives == 0, room, rate, width)
                predictions += 1
                if rate > 0:
                    for context in range(first, last):
                        if context != centre:
                            _scatter(np.int64(room.sentence[context]), inputs, room, input_, np.float32(1), width)
    return loss, predictions
