"""A recurrent encoder whose states are read by a decoder: what CoVe's translation and Skip-Thought's neighbours share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded
from plume.heads.head import Dims, HeadModule
from plume.model.networks.recurrent import RecurrentModel, picked
from plume.nn.recurrent.attention_decoder import DecoderState
from plume.nn.recurrent.rows import State
from plume.objectives._objective import Objective


@dataclass(kw_only=True)
class DecoderCache:
    """What a writer keeps: the decoder's state after all that is written."""

    state: DecoderState | State | None = None

    def reorder(self, rows: Tensor) -> None:
        """Go on with these rows, in this order."""
        if self.state is not None:
            self.state = self.state.pick(rows)


class RecurrentDecoding(RecurrentModel):
    """An encoder's states are read by a decoder; a batch with a source is the decoder's."""

    def new_cache(self) -> list[Any]:
        """What a writer keeps between two tokens."""
        return [DecoderCache()]

    def token_states(self, batch: Batch, *, keep_layers: bool = False) -> Encoded:
        if batch.source is None:
            return self.encode(batch, keep_layers=keep_layers)
        return self.decode(batch, self.encode(batch.source))

    def token_layers(self, batch: Batch) -> dict[int, Encoded]:
        """The decoder's one layer."""
        return {1: self.token_states(replace(batch, read=None))}

    def decode(self, batch: Batch, read: Encoded, *, cache: list[Any] | None = None) -> Encoded:
        """The decoder's states over the batch, after what the encoder has read."""
        held = cache[0].state if cache else None
        states, after = self._write(batch, self._embedded(batch), _for_rows(read, len(batch.tokens)), held)
        if cache:
            cache[0].state = after
        return Encoded(last=picked(states, batch.read), source=batch.source, read=read.last)

    def _write(self, batch: Batch, value: Tensor, read: Encoded, held: Any) -> tuple[Tensor, Any]:
        """[B, T, D] the decoder's states, and the one to go on from."""
        raise NotImplementedError

    def _head(self, objective: Objective) -> HeadModule:
        return objective.head.build(Dims(width=self._written_width, token=self.embedding.token))

    @property
    def _written_width(self) -> int:
        return self.width

    def body_flops(self, batch: Batch) -> int:
        if batch.source is None:
            return self._reading_flops(batch)
        rows, time = batch.tokens.shape
        written = self._writing_flops(batch, rows=rows, time=time) + self.embedding.product_flops(rows * time)
        return self._reading_flops(batch.source) + 3 * written

    def _reading_flops(self, batch: Batch) -> int:
        return super().body_flops(batch)

    def _writing_flops(self, batch: Batch, *, rows: int, time: int) -> int:
        raise NotImplementedError


def _for_rows(read: Encoded, rows: int) -> Encoded:
    """One text that was read, for all the beams that write after it."""
    if len(read.last) == rows:
        return read
    row = torch.zeros(rows, dtype=torch.long, device=read.last.device)
    return replace(read, last=read.last[row], state=tuple(layer.pick(row) for layer in read.state))
