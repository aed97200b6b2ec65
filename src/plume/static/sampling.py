"""What word2vec and fastText draw from, and Huffman's tree: everything that follows from the counts alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.static.kernels.sampling import alias_pairs, huffman_parents

_WHOLE = 2.0**32


class NoiseTable(NamedTuple):
    """Walker's alias method: place j gives word j if a 32-bit number is at most `threshold[j]`, else `alias[j]`. Exact where word2vec.c's table of
    1e8 places is rounded, and 8 bytes a word, so that a draw seldom misses the cache."""

    threshold: NDArray[np.uint32]
    alias: NDArray[np.int32]


def noise_shares(counts: NDArray[np.int64], power: float) -> NDArray[np.float64]:
    """P(word) of the negatives: count^power, normalised (Mikolov et al. 2013b, section 2.2: power 3/4)."""
    weights = counts.astype(np.float64) ** power
    return weights / weights.sum()


def noise_table(counts: NDArray[np.int64], power: float) -> NoiseTable:
    """Counts to the power, as an alias table to draw from in constant time."""
    threshold, alias = alias_pairs(noise_shares(counts, power) * len(counts))
    return NoiseTable((threshold * (_WHOLE - 1)).astype(np.uint32), alias)


def keep_shares(counts: NDArray[np.int64], sample: float) -> NDArray[np.float64]:
    """P(an occurrence is kept) = (sqrt(f / t) + 1) · t / f, at most 1: word2vec.c's formula, which is not the paper's 1 - sqrt(t / f)."""
    if sample == 0:
        return np.ones(len(counts))
    ratio = counts / (sample * counts.sum())  # f / t
    return np.minimum((np.sqrt(ratio) + 1) / ratio, 1.0)


def keep_thresholds(counts: NDArray[np.int64], sample: float) -> NDArray[np.uint32]:
    """A word stays if a 32-bit random number is at most this."""
    return (keep_shares(counts, sample) * (_WHOLE - 1)).astype(np.uint32)


class HuffmanTree(NamedTuple):
    """The way from the root to each word: `points[begin[w]:begin[w + 1]]` are inner nodes, `labels` there 1 for code bit 0."""

    begin: NDArray[np.int64]  # [V + 1]
    points: NDArray[np.int32]
    labels: NDArray[np.float32]  # word2vec.c predicts 1 - code
    weights: NDArray[np.float64]  # [V - 1, 2] counts under each inner node: code 0, code 1


def huffman_tree(counts: NDArray[np.int64]) -> HuffmanTree:
    """Built as word2vec.c does from counts in falling order, so that codes are equal bit for bit."""
    size = len(counts)
    parent, bit, weight = huffman_parents(counts.astype(np.int64))
    node, words = np.arange(size), np.arange(size)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
    while len(node):  # up one level at a time, all words at once
        found.append((words, parent[node] - size, bit[node]))
        node = parent[node]
        above = node != 2 * size - 2
        node, words = node[above], words[above]
    word, point, code = (np.concatenate(column) for column in zip(*found, strict=True))
    level = np.concatenate([np.full(len(one[0]), depth) for depth, one in enumerate(found)])
    order = np.lexsort((-level, word))  # the root, found last, comes first
    weights = np.zeros((size - 1, 2))
    below = np.arange(2 * size - 2)
    weights[parent[below] - size, bit[below]] = weight[below]
    begin = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=size))]).astype(np.int64)
    return HuffmanTree(begin, point[order].astype(np.int32), (1 - code[order]).astype(np.float32), weights)
