"""Counting pairs of words in a hash table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plume.static.kernels.sampling import HALF, kernel

EMPTY = np.uint64(2**64 - 1)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def count_pairs(
    ids: NDArray[np.int32],
    sentence_start: NDArray[np.int64],
    place: int,
    weights: NDArray[np.int64],
    symmetric: bool,
    keys: NDArray[np.uint64],
    values: NDArray[np.int64],
    filled: int,
    limit: int,
) -> tuple[int, int]:
    """Add each word from `place` on with the words before it in its sentence (`sentence_start[p]` is where that of word p begins), until the
    table holds `limit` pairs; where counting stopped, and how many are held. A symmetric pair is held once, the smaller number first."""
    window = len(weights) - 1
    shift, last = np.uint64(64), np.uint64(len(keys) - 1)
    while np.uint64(1) << (np.uint64(64) - shift) < np.uint64(len(keys)):
        shift -= np.uint64(1)
    while place < len(ids) and filled + window <= limit:
        word = np.uint64(ids[place])
        for distance in range(1, min(window, place - sentence_start[place]) + 1):
            before = np.uint64(ids[place - distance])
            left, right = (word, before) if symmetric and word < before else (before, word)
            key = (left << HALF) | right
            slot = (key * _GOLDEN) >> shift
            while keys[slot] != key and keys[slot] != EMPTY:
                slot = (slot + np.uint64(1)) & last
            if keys[slot] == EMPTY:
                keys[slot] = key
                filled += 1
            values[slot] += weights[distance]
        place += 1
    return place, filled


@kernel
def hash_pairs(left: NDArray[np.int32], right: NDArray[np.int32], seed: int) -> NDArray[np.uint64]:
    """SplitMix64 of (left, right, seed): of two different pairs never the same, so that sorting by it is a shuffle with one outcome."""
    found = np.empty(len(left), np.uint64)
    for place in range(len(left)):
        value = (((np.uint64(left[place]) << HALF) | np.uint64(right[place])) + np.uint64(seed)) * _GOLDEN
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found[place] = value ^ (value >> np.uint64(31))
    return found
