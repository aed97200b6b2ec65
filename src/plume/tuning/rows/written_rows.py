"""What is read and what is written as rows: side by side, or one behind the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.batch import Batch, Target
from plume.core.part import replace
from plume.tuning.rows.rows import Array


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """What is read and what is written, padded; `length` and `size` say how much of each is text."""

    read: Array  # [B, S]
    length: Array  # [B]
    written: Array  # [B, N]
    size: Array  # [B]
    pad: int

    @property
    def inside(self) -> NDArray[np.bool_]:
        """[B, N]"""
        return np.asarray(np.arange(self.written.shape[1]) < self.size[:, None])

    @property
    def source(self) -> Batch:
        """What an encoder reads."""
        return source_batch(self.read, self.length)


def source_batch(tokens: Array, length: Array) -> Batch:
    """What an encoder reads; without lengths where no row is padded."""
    return Batch(tokens=tokens, length=length if (length < tokens.shape[1]).any() else None)


def behind(pairs: Pairs, *parts: tuple[Array, Array]) -> tuple[Array, Array]:
    """[B, T] each row's text with the first `size` of each part's row behind it, and its length."""
    length = pairs.length + sum(size for _, size in parts)
    tokens = np.full((len(length), int(length.max())), pairs.pad)
    begin = np.zeros_like(length)
    for part, size in ((pairs.read, pairs.length), *parts):
        row, column = np.nonzero(np.arange(part.shape[1]) < size[:, None])
        tokens[row, begin[row] + column] = part[row, column]
        begin = begin + size
    return tokens, length


def asked(batch: Batch, pairs: Pairs, name: str, *, first: Array) -> Batch:
    """The written tokens are the answers, one after the other from column `first` on."""
    inside = pairs.inside
    width = batch.tokens.shape[1]
    read = np.minimum(first[:, None] + np.arange(inside.shape[1]), width - 1)
    row = np.nonzero(inside)[0]
    target = Target(index=row * width + read[inside], slot=np.flatnonzero(inside), value=pairs.written[inside])
    return replace(batch, read=read, labels={name: target})
