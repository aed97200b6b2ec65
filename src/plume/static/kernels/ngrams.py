"""Hashing stretches of bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plume.static.kernels.sampling import kernel

_BASIS, _PRIME = np.uint32(2166136261), np.uint32(16777619)


@kernel
def hash_stretches(
    raw: NDArray[np.int8], places: NDArray[np.int64], lengths: NDArray[np.int64], shortest: int, longest: int, buckets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """FNV-1a over signed bytes, modulo `buckets`, of each word's stretches of `shortest` to `longest` characters, but for single ones at its ends."""
    begin = np.zeros(len(lengths) + 1, np.int64)
    for word in range(len(lengths)):
        count = 0
        for size in range(shortest, longest + 1):
            count += max(0, lengths[word] - size + 1) - (2 if size == 1 else 0)
        begin[word + 1] = begin[word] + count
    found = np.empty(begin[-1], np.int64)
    first, made = 0, 0
    for word in range(len(lengths)):
        last = first + lengths[word]
        for left in range(first, last):
            value = _BASIS
            for size in range(1, min(longest, last - left) + 1):
                for place in range(places[left + size - 1], places[left + size]):
                    value = np.uint32((value ^ np.uint32(np.int32(raw[place]))) * _PRIME)
                if size >= shortest and not (size == 1 and (left == first or left == last - 1)):
                    found[made] = np.int64(value) % buckets
                    made += 1
        first = last
    return begin, found


@kernel
def hash_words(raw: NDArray[np.int8], begin: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The same hash of the whole words raw[begin[w]:begin[w + 1]]."""
    found = np.empty(len(begin) - 1, np.uint32)
    for word in range(len(found)):
        value = _BASIS
        for place in range(begin[word], begin[word + 1]):
            value = np.uint32((value ^ np.uint32(np.int32(raw[place]))) * _PRIME)
        found[word] = value
    return found
