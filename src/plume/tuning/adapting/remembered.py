"""What a frozen body makes of a text does not change: it is computed once, and remembered for the other epochs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plume.core.batch import Batch, Encoded

_MOST = 2**31  # bytes; texts beyond that are read again each time
_BY_TOKEN = ("tokens", "rank", "until", "document", "position", "within", "segment")  # [B, T]: all that a row may be told by
_OTHER = ("length", "order", "read", "labels", "unseen")
Encode = Callable[[Batch], Encoded]


class RememberedStates:
    """The states of rows, by all that the body reads of them.

    Rows are kept while nothing learns, in batches that do not depend on how far a run has come; so a run that goes on computes the same bits
    as one that was never stopped.
    """

    def __init__(self, vocabulary: int, most: int = _MOST) -> None:
        self.vocabulary, self.most = vocabulary, most
        self.bytes = 0
        self._top_is_last = False  # most stacks end with their top layer's states, which then are kept once
        self._kept: dict[bytes, list[Tensor]] = {}  # the last states, then those of each layer that was kept

    def encode(self, batch: Batch, encode: Encode) -> Encoded:
        """As the body does it; rows that are remembered are not computed."""
        if any(_given(getattr(batch, field.name)) for field in fields(Batch) if field.name not in _BY_TOKEN + _OTHER):
            return encode(batch)
        keys = self._keys(batch)
        new = [row for row, key in enumerate(keys) if key not in self._kept]
        if not new:
            return self._joined(batch, [self._kept[key] for key in keys])
        encoded = encode(batch if len(new) == len(keys) else _rows(batch, new))
        made = self._cut(encoded, [_length(batch, row) for row in new])
        if not torch.is_grad_enabled():
            for row, states in zip(new, made, strict=True):
                self._keep(keys[row], states)
        if len(new) == len(keys):
            return encoded
        found = dict(zip(new, made, strict=True))
        return self._joined(batch, [found[row] if row in found else self._kept[key] for row, key in enumerate(keys)])

    def _keys(self, batch: Batch) -> list[bytes]:
        columns = [getattr(batch, name) for name in _BY_TOKEN if getattr(batch, name) is not None]
        told = [column.cpu().numpy() for column in columns]
        return [self._key(batch, [array[row, : _length(batch, row)] for array in told]) for row in range(len(batch.tokens))]

    def _key(self, batch: Batch, row: Sequence[NDArray[np.int64]]) -> bytes:
        tokens, *others = row
        if batch.unseen is None:
            return b"".join(array.tobytes() for array in row)
        # Numbers behind the vocabulary mean another word in each batch: the word itself is told.
        unseen = tokens >= self.vocabulary
        spelled = batch.unseen[torch.from_numpy(tokens[unseen] - self.vocabulary)].cpu().numpy()
        known = tokens.copy()
        known[unseen] = self.vocabulary
        return b"".join(array.tobytes() for array in (known, *others, spelled))

    def _keep(self, key: bytes, states: list[Tensor]) -> None:
        size = sum(one.numel() * one.element_size() for one in states)
        if self.bytes + size <= self.most and key not in self._kept:
            self._kept[key] = [one.clone() for one in states]
            self.bytes += size

    def _cut(self, encoded: Encoded, lengths: Sequence[int]) -> list[list[Tensor]]:
        """Of each row the last states, then those of each other layer that was kept."""
        layers = encoded.layers
        self._top_is_last = bool(layers) and layers[-1] is encoded.last
        states = [encoded.last, *(layers[:-1] if self._top_is_last else layers)]
        return [[one[row, :length] for one in states] for row, length in enumerate(lengths)]

    def _joined(self, batch: Batch, rows: Sequence[list[Tensor]]) -> Encoded:
        """Padded with zeros, which nobody reads."""
        made = []
        for states in zip(*rows, strict=True):
            joined = states[0].new_zeros(*batch.tokens.shape, states[0].shape[-1])
            for row, one in enumerate(states):
                joined[row, : len(one)] = one
            made.append(joined)
        return Encoded(last=made[0], layers=(*made[1:], made[0]) if self._top_is_last else tuple(made[1:]))


def _given(value: object) -> bool:
    return value is not None and value is not False and value != {}


def _length(batch: Batch, row: int) -> int:
    return int(batch.tokens.shape[1] if batch.length is None else batch.length[row])


def _rows(batch: Batch, rows: Sequence[int]) -> Batch:
    """These alone, as wide as the longest of them."""
    index = torch.tensor(rows, device=batch.tokens.device)
    wide = max(_length(batch, row) for row in rows)
    columns = {name: getattr(batch, name)[index, :wide] for name in _BY_TOKEN if getattr(batch, name) is not None}
    return replace(batch, **columns, length=None if batch.length is None else batch.length[index])
