"""GloVe's co-occurrence counts, in a stream and with bounded memory: a hash table, sorted runs on disk, a merge, a shuffle.

Counts are whole numbers of 2^-32, so that sums do not depend on their order, and the shuffle sorts by a hash of the pair: the result is
the same, bit for bit, whatever the memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.static.kernels.cooccurrence import EMPTY, count_pairs, hash_pairs
from plume.static.text import WordText

UNIT = 2**32
_FULL = 0.7  # of the table, above which probing grows long
_AT_ONCE = 1 << 20  # words counted between reports of progress
_PAIR = np.dtype([("key", "<u8"), ("value", "<i8")])
ENTRY = np.dtype([("word", "<i4"), ("context", "<i4"), ("log", "<f4"), ("weight", "<f4")])  # what an AdaGrad step needs
_SHUFFLED = np.dtype([("hash", "<u8"), *ENTRY.descr])
_PAIR_COST = 2 * _PAIR.itemsize  # a place in the table, and its copy when sorted

Pairs = NDArray[np.void]


def build(
    text: WordText,
    *,
    window: int,
    symmetric: bool,
    x_max: float,
    alpha: float,
    seed: int,
    memory: int,
    folder: Path,
    progress: Callable[[float], None] = lambda share: None,
) -> Path:
    """Write the shuffled entries of `text` to `folder`/entries.bin, as records of type ENTRY, in about `memory` bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    runs: list[Path] = []
    for number, (run, done) in enumerate(sorted_runs(text, window=window, symmetric=symmetric, memory=memory)):
        runs.append(folder / f"run{number}.bin")
        run.tofile(runs[-1])
        progress(0.6 * done)
    size = sum(run.stat().st_size for run in runs) // _PAIR.itemsize * (2 if symmetric else 1)
    parts = _Parts(folder, count=1 << max(0, math.ceil(math.log2(max(1, 2 * size * _SHUFFLED.itemsize / memory)))))
    for pairs in merged(runs, memory=memory):
        parts.add(_entries(pairs, symmetric=symmetric, x_max=x_max, alpha=alpha, seed=seed))
    progress(0.8)
    for path in runs:
        path.unlink()
    return parts.close(folder / "entries.bin", progress)


def sorted_runs(text: WordText, *, window: int, symmetric: bool, memory: int) -> Iterator[tuple[Pairs, float]]:
    """Pairs with their counts, sorted by pair, as many at a time as memory holds, and the share of the text that is done."""
    enough = math.ceil(math.log2(max(1, len(text.ids) * window / _FULL)))  # no text has more pairs than that
    places = 1 << max(10, min(enough, int(math.log2(max(1, memory // _PAIR_COST)))))
    keys, values = np.full(places, EMPTY), np.zeros(places, np.int64)
    weights = np.array([0] + [round(UNIT / distance) for distance in range(1, window + 1)], np.int64)
    limit = max(int(places * _FULL), window)
    filled = place = 0
    ids, starts, offset = _stretch(text, 0, window)
    while place < len(text.ids):
        here, filled = count_pairs(ids, starts, place - offset, weights, symmetric, keys, values, filled, limit)
        place = here + offset
        if here < len(ids) or place == len(text.ids):  # the table is full, or all is read
            used = keys != EMPTY
            yield _sorted(keys[used], values[used]), place / len(text.ids)
            keys[:], values[:], filled = EMPTY, 0, 0
        else:
            ids, starts, offset = _stretch(text, place, window)


def _stretch(text: WordText, place: int, window: int) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Words from a window before `place` on: their numbers, where the sentence of each begins, and the first one's place in the text."""
    offset = max(0, place - window)
    last = min(len(text.ids), place + _AT_ONCE)
    where = np.arange(offset, last)
    sentence = np.searchsorted(text.start, where, side="right") - 1
    starts = np.maximum(np.asarray(text.start)[sentence] - offset, 0)
    return np.array(text.ids[offset:last], np.int32), starts.astype(np.int64), offset


def _sorted(keys: NDArray[np.uint64], values: NDArray[np.int64]) -> Pairs:
    order = np.argsort(keys)
    found = np.empty(len(keys), _PAIR)
    found["key"], found["value"] = keys[order], values[order]
    return found


def merged(runs: list[Path], *, memory: int) -> Iterator[Pairs]:
    """The runs as one, in order, equal pairs added up; a block of each is in memory at a time."""
    block = max(64, memory // (4 * _PAIR.itemsize * max(1, len(runs))))
    waiting = [np.memmap(path, _PAIR, mode="r") if path.stat().st_size else np.zeros(0, _PAIR) for path in runs]
    while waiting := [run for run in waiting if len(run)]:
        heads = [np.array(run[:block]) for run in waiting]
        # Below the smallest of the blocks' last pairs nothing can follow from the disk.
        bounds = [head["key"][-1] for head, run in zip(heads, waiting, strict=True) if len(run) > len(head)]
        counts = [int(np.searchsorted(head["key"], min(bounds), side="right")) if bounds else len(head) for head in heads]
        taken = np.concatenate([head[:count] for head, count in zip(heads, counts, strict=True)])
        waiting = [run[count:] for run, count in zip(waiting, counts, strict=True)]
        found = _sorted(taken["key"], taken["value"])
        first = np.flatnonzero(np.append(True, found["key"][1:] != found["key"][:-1])) if len(found) else np.zeros(0, np.int64)
        sums = found[first]
        sums["value"] = np.add.reduceat(found["value"], first) if len(first) else sums["value"]
        yield sums


def _entries(pairs: Pairs, *, symmetric: bool, x_max: float, alpha: float, seed: int) -> Pairs:
    """What training reads: log count and weight of both directions of a pair (of a word with itself one, of twice the count, as in cooccur.c)."""
    left, right = (pairs["key"] >> np.uint64(32)).astype(np.int32), (pairs["key"] & np.uint64(2**32 - 1)).astype(np.int32)
    value = pairs["value"] / UNIT
    if symmetric:
        itself = left == right
        value = np.where(itself, 2 * value, value)
        left, right = np.concatenate([left, right[~itself]]), np.concatenate([right, left[~itself]])
        value = np.concatenate([value, value[~itself]])
    found = np.empty(len(left), _SHUFFLED)
    found["hash"] = hash_pairs(left, right, seed)
    found["word"], found["context"], found["log"] = left, right, np.log(value)
    found["weight"] = np.minimum(value / x_max, 1.0) ** alpha
    return found


class _Parts:
    """Entries by ranges of their hash, a file each, small enough to be sorted in memory."""

    def __init__(self, folder: Path, *, count: int) -> None:
        self._paths = [folder / f"part{number}.bin" for number in range(count)]
        self._bits = int(math.log2(count))
        for path in self._paths:
            path.write_bytes(b"")

    def add(self, entries: Pairs) -> None:
        part = (entries["hash"] >> np.uint64(64 - self._bits)).astype(np.uint16) if self._bits else np.zeros(len(entries), np.uint16)
        order = np.argsort(part, kind="stable")  # 16 bits: a radix sort
        ends = np.searchsorted(part[order], np.arange(len(self._paths) + 1))
        for number, path in enumerate(self._paths):
            with path.open("ab") as file:
                entries[order[ends[number] : ends[number + 1]]].tofile(file)

    def close(self, target: Path, progress: Callable[[float], None]) -> Path:
        with target.open("wb") as file:
            for number, path in enumerate(self._paths):
                entries = np.fromfile(path, _SHUFFLED)
                order = np.argsort(np.ascontiguousarray(entries["hash"]))  # no two pairs share a hash
                plain = np.empty(len(entries), ENTRY)
                for name in ENTRY.names or ():
                    plain[name] = entries[name][order]
                plain.tofile(file)
                path.unlink()
                progress(0.8 + 0.2 * (number + 1) / len(self._paths))
        return target
