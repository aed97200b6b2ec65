"""Compaction: a new generation of the files, without what was removed; keys are counted anew."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.search.embedded.database import Committed
from plume.search.embedded.postings import unpack
from plume.search.embedded.raw_vectors import RawVectors
from plume.search.settings import IndexSettings


def compact(folder: Path, settings: IndexSettings, database: sqlite3.Connection, state: Committed) -> Committed:
    """In the transaction that is open. What faiss searches has to be built again."""
    kept = np.array([key for (key,) in database.execute("SELECT key FROM passages ORDER BY key")], np.int64)
    new = replace(
        state, rows=len(kept), generation=state.generation + 1, ann=None, type=None, built=0, trained=0, effort=0, refined=1, checksum=0
    )
    if settings.dimension is not None:
        _copy_vectors(folder, settings.dimension, database, state, new, kept)
    database.executemany(
        "UPDATE passages SET key = ? WHERE key = ?", ((int(to), int(old)) for to, old in enumerate(kept) if to != old)
    )  # in rising order, so that a key is free before it is taken
    if settings.words is not None:
        _renumber_words(database, state.rows, kept)
    database.execute("DELETE FROM gone")
    return new


def _copy_vectors(
    folder: Path, dimension: int, database: sqlite3.Connection, state: Committed, new: Committed, kept: NDArray[np.int64]
) -> None:
    source, target = RawVectors(folder / state.vectors, dimension), RawVectors(folder / new.vectors, dimension)
    target.path.unlink(missing_ok=True)
    database.execute("DELETE FROM checksums")
    written = 0
    for first, block in source.blocks(0, state.rows) if state.rows else ():
        low, high = np.searchsorted(kept, [first, first + len(block)])
        if high > low:
            checksum = target.write(written, block[kept[low:high] - first])
            database.execute("INSERT INTO checksums VALUES (?, ?, ?)", (written, int(high - low), checksum))
            written += int(high - low)


def _renumber_words(database: sqlite3.Connection, rows: int, kept: NDArray[np.int64]) -> None:
    renamed = np.full(rows, -1, np.int64)
    renamed[kept] = np.arange(len(kept))
    lengths = np.zeros(rows, np.uint32)
    for first, data in database.execute("SELECT first, data FROM lengths"):
        lengths[first : first + len(data) // 4] = np.frombuffer(data, np.uint32)
    database.execute("DELETE FROM lengths")
    if len(kept):
        database.execute("INSERT INTO lengths VALUES (0, ?)", (lengths[kept].tobytes(),))
    last = database.execute("SELECT coalesce(max(number), 0) FROM postings").fetchone()[0]
    for begin in range(1, last + 1, 5_000):
        rows_ = database.execute("SELECT number, data FROM postings WHERE number BETWEEN ? AND ?", (begin, begin + 4_999)).fetchall()
        changed = [(_renamed(data, renamed), number) for number, data in rows_]
        database.executemany("UPDATE postings SET data = ? WHERE number = ?", [one for one in changed if one[0]])
        database.executemany("DELETE FROM postings WHERE number = ?", [(number,) for data, number in changed if not data])


def _renamed(data: bytes, renamed: NDArray[np.int64]) -> bytes:
    keys, counts = unpack(data)
    new = renamed[keys]
    left = new >= 0
    return new[left].astype(np.uint32).tobytes() + counts[left].tobytes()
