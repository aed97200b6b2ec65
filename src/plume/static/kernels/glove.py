"""AdaGrad over co-occurrence entries, and the baseline of biases alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.static.kernels.sampling import kernel, loop
from plume.static.kernels.vector import adagrad, dot, prefetch

CLIP = np.float32(100)  # glove.c: grad_clip_value
_AHEAD = 2  # entries whose rows are asked for before they are needed: they lie anywhere in memory, but which is known


class Weights(NamedTuple):
    """Flat matrices and biases of one side (words or contexts), and their summed squares."""

    rows: NDArray[np.float32]
    row_squares: NDArray[np.float32]
    bias: NDArray[np.float32]
    bias_squares: NDArray[np.float32]


@loop
def train_entries(pairs, numbers, first, last, words, contexts, rate, width):  # type: ignore[no-untyped-def]
    """glove.c's loop over entries [first, last): `pairs` holds word and context, `numbers` (the same memory as floats) log count and weight.
    The summed loss."""
    loss = 0.0
    for entry in range(first, last):
        if entry + _AHEAD < last:
            next_word, next_context = np.int64(pairs[entry + _AHEAD, 0]) * width, np.int64(pairs[entry + _AHEAD, 1]) * width
            prefetch(words.rows, next_word, width)
            prefetch(words.row_squares, next_word, width)
            prefetch(contexts.rows, next_context, width)
            prefetch(contexts.row_squares, next_context, width)
        word, context = np.int64(pairs[entry, 0]), np.int64(pairs[entry, 1])
        one, two = word * width, context * width
        difference = dot(words.rows, one, contexts.rows, two, width) + words.bias[word] + contexts.bias[context] - numbers[entry, 2]
        slope = numbers[entry, 3] * difference
        loss += np.float32(0.5) * slope * difference
        adagrad(words.rows, words.row_squares, one, contexts.rows, contexts.row_squares, two, slope, rate, CLIP, width)
        # The biases' step is not multiplied by the rate, in glove.c and here.
        words.bias[word] -= slope / np.sqrt(words.bias_squares[word])
        contexts.bias[context] -= slope / np.sqrt(contexts.bias_squares[context])
        words.bias_squares[word] += slope * slope
        contexts.bias_squares[context] += slope * slope
    return loss


@kernel
def predicted(pairs, words, contexts, width):  # type: ignore[no-untyped-def]
    """[N] the model's log counts."""
    found = np.empty(len(pairs), np.float32)
    for entry in range(len(pairs)):
        word, context = np.int64(pairs[entry, 0]), np.int64(pairs[entry, 1])
        product = dot(words.rows, word * width, contexts.rows, context * width, width)
        found[entry] = product + words.bias[word] + contexts.bias[context]
    return found


@kernel
def fit_bias(pairs, numbers, side, other, size):  # type: ignore[no-untyped-def]
    """[V] the biases of one side (column 0 or 1) that are best given the other's: weighted means."""
    sums, weights = np.zeros(size), np.full(size, 1e-9)
    for entry in range(len(pairs)):
        place = pairs[entry, side]
        weights[place] += numbers[entry, 3]
        sums[place] += numbers[entry, 3] * (numbers[entry, 2] - other[pairs[entry, 1 - side]])
    return sums / weights
