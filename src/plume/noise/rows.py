"""What noise works on: a batch of token rows with the bounds that the store knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Rows:
    tokens: NDArray[np.int64]  # [B, T]
    length: NDArray[np.int64]  # [B] the rest is padding
    special: NDArray[np.bool_]  # [B, T] special tokens and padding: never selected
    word_start: NDArray[np.bool_]  # [B, T]
    segment: NDArray[np.int64] | None = None  # [B, T]
    label: NDArray[np.int64] | None = None  # [B] what the layout knows of each row (next or random, in order or swapped)


@dataclass(frozen=True, kw_only=True)
class Alphabet:
    """The ids that noise may write."""

    size: int
    mask: int | None
