"""How many of a stream of texts were seen before: by 64-bit hashes, in bounded memory."""

from __future__ import annotations

from array import array
from hashlib import blake2b

import numpy as np


class DuplicateCounter:
    """Exact up to `room` texts; beyond, an estimate from the half, quarter … of the hashes that are still kept.

    >>> counter = DuplicateCounter()
    >>> for text in ("one", "two", "one", "one"):
    ...     counter.add(text)
    >>> counter.duplicates()
    2
    """

    def __init__(self, *, room: int = 4_000_000) -> None:
        self._room = room
        self._kept = array("Q")
        self._one_in = 1  # only hashes divisible by this are kept: equal texts are kept or dropped together

    def add(self, text: str) -> None:
        """Count one more text."""
        number = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
        if number % self._one_in:
            return
        self._kept.append(number)
        if len(self._kept) > self._room:
            self._one_in *= 2
            kept = np.frombuffer(self._kept, np.uint64)
            self._kept = array("Q", kept[kept % np.uint64(self._one_in) == 0].tobytes())

    def duplicates(self) -> int:
        """How many texts had come before; an estimate once there are more than there is room for."""
        return (len(self._kept) - len(np.unique(np.frombuffer(self._kept, np.uint64)))) * self._one_in if self._kept else 0
