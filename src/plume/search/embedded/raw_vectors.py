"""All vectors of an index as they came: one file of float32 that only grows, mapped into memory. Flat search needs nothing else; whatever
approximates can be built from it again, and what it finds be compared exactly."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.search.backend import Vectors

BLOCK = 1 << 25  # bytes that are read at once


class RawVectors:
    """The file; how many of its rows count is known by whoever opens it."""

    def __init__(self, path: Path, dimension: int) -> None:
        self.path, self.dimension = path, dimension
        self._row = 4 * dimension

    def mapped(self, rows: int) -> Vectors:
        """[rows, D], read from disk as they are used."""
        if not rows:
            return np.zeros((0, self.dimension), np.float32)
        if self.path.stat().st_size < rows * self._row:
            held = self.path.stat().st_size // self._row
            raise PlumeError(
                f"{self.path} holds {held:,} vectors where {rows:,} were committed: it was cut. Restore it, or build the index again."
            )
        return np.memmap(self.path, np.float32, "r", shape=(rows, self.dimension))

    def write(self, at: int, vectors: Vectors) -> int:
        """From row `at` on, whatever is there: the end of an addition that was never committed. The checksum of what was written."""
        data = np.ascontiguousarray(vectors, np.float32).tobytes()
        with self.path.open("r+b" if self.path.exists() else "w+b") as handle:
            handle.seek(at * self._row)
            handle.write(data)
        return zlib.crc32(data)

    def flush(self) -> None:
        """To the disk itself."""
        with self.path.open("r+b") as handle:
            os.fsync(handle.fileno())

    def truncate(self, rows: int) -> None:
        """What lies behind was not committed."""
        if self.path.exists() and self.path.stat().st_size > rows * self._row:
            os.truncate(self.path, rows * self._row)

    def blocks(self, first: int, rows: int) -> Iterator[tuple[int, Vectors]]:
        """Row numbers and rows from `first` up to `rows`, read and not mapped, so that memory stays small."""
        step = max(1, BLOCK // self._row)
        with self.path.open("rb") as handle:
            for begin in range(first, rows, step):
                handle.seek(begin * self._row)
                read = np.fromfile(handle, np.float32, min(step, rows - begin) * self.dimension)
                yield begin, read.reshape(-1, self.dimension)
