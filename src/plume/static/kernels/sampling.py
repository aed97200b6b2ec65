"""Compiled helpers: the random numbers of the kernels, alias and Huffman construction, first values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Kernel = Callable[..., Any]
# cache: compiled once a machine. numba looks at a kernel's own file only: after a change to a helper, touch the files whose kernels use it.
# nogil: shares of a piece run in threads of their own, and Ctrl-C reaches Python between pieces.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": True, "error_model": "numpy", "cache": True}
_compiled: Any = numba.njit
kernel: Callable[[Kernel], Kernel] = _compiled(**_OPTIONS)
# Inner loops make no arrays. Without numba's counting of references to those they are given, training is 1.6 times faster.
loop: Callable[[Kernel], Kernel] = _compiled(_nrt=False, **_OPTIONS)
helper: Callable[[Kernel], Kernel] = _compiled(_nrt=False, forceinline=True, **_OPTIONS)

_MULTIPLIER, _INCREMENT = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
HALF = np.uint64(32)


@helper
def following(state: np.uint64) -> np.uint64:
    """A linear congruential generator modulo 2^64 (Knuth's constants); its upper 32 bits are what is used first."""
    return state * _MULTIPLIER + _INCREMENT


@helper
def below(state: np.uint64, high: int) -> int:
    """The state's upper half as a whole number in [0, high)."""
    return np.int64(((state >> HALF) * np.uint64(high)) >> HALF)  # type: ignore[return-value]


@helper
def noise_word(state: np.uint64, threshold: NDArray[np.uint32], alias: NDArray[np.int32]) -> int:
    """A word drawn from the noise distribution, by its alias table."""
    place = below(state, len(threshold))
    # The low bits of such a generator are weak alone; mixed with the upper ones they decide between word and alias.
    other = np.int64(alias[place])  # read in any case: a select instead of a branch that nothing could predict
    return other if np.uint32(state ^ (state >> HALF)) > threshold[place] else place  # type: ignore[return-value]


@kernel
def fill_uniform(matrix: NDArray[np.float32], columns: int, half_width: float, seed: int) -> None:
    """Row by row in [-half_width, half_width); the padding stays zero."""
    state = np.uint64(seed)
    scale = np.float32(2.0 * half_width / 4294967296.0)
    for row in range(matrix.shape[0]):
        for column in range(columns):
            state = following(state)
            matrix[row, column] = np.float32(state >> HALF) * scale - np.float32(half_width)


@kernel
def alias_pairs(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Walker's construction in linear time (Vose 1991) from weights whose mean is 1."""
    size = len(weights)
    left = weights.copy()
    threshold, alias = np.ones(size), np.arange(size).astype(np.int32)
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    smalls = larges = 0
    for place in range(size):
        if left[place] < 1:
            small[smalls] = place
            smalls += 1
        else:
            large[larges] = place
            larges += 1
    while smalls and larges:
        smalls -= 1
        poor, rich = small[smalls], large[larges - 1]
        threshold[poor], alias[poor] = left[poor], rich
        left[rich] -= 1 - left[poor]
        if left[rich] < 1:
            larges -= 1
            small[smalls] = rich
            smalls += 1
    return threshold, alias


@kernel
def huffman_parents(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Parent, code bit and count of the 2V - 1 nodes; two queues, the leaves from the rarest up and the inner nodes as they are made.

    Of a leaf and an inner node with equal counts the inner node goes first, as in word2vec.c.
    """
    size = len(counts)
    total = 2 * size - 1
    parent, bit = np.zeros(total, np.int64), np.zeros(total, np.int64)
    weight = np.full(total, np.int64(1) << np.int64(62))
    weight[:size] = counts
    leaf, inner = size - 1, size
    for made in range(size, total):
        both = np.int64(0)  # written only when complete: an unfinished node must not be chosen
        for side in range(2):
            if leaf >= 0 and weight[leaf] < weight[inner]:
                chosen = leaf
                leaf -= 1
            else:
                chosen = inner
                inner += 1
            parent[chosen], bit[chosen] = made, side
            both += weight[chosen]
        weight[made] = both
    return parent, bit, weight
