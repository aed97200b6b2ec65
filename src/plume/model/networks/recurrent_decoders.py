"""Recurrent encoders whose decoders write another text: CoVe's translation, Skip-Thought's neighbouring sentences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.heads.head import Dims, HeadModule
from plume.model.networks.recurrent import RecurrentModel, picked
from plume.model.recipe import Recipe
from plume.nn.bidirectional import Bidirectional
from plume.nn.conditional_gru import VectorDecoder, VectorDecoderModule
from plume.nn.pooling import LAST
from plume.nn.positions.scheme import PositionModule
from plume.nn.recurrent import Recurrent
from plume.nn.recurrent_attention import AttentionDecoder, DecoderState
from plume.nn.recurrent_rows import State
from plume.objectives._objective import Objective


@dataclass(kw_only=True)
class DecoderCache:
    """What a writer keeps: the decoder's state after all that is written."""

    state: DecoderState | State | None = None

    def reorder(self, rows: Tensor) -> None:
        if self.state is not None:
            self.state = self.state.pick(rows)


class _Decoding(RecurrentModel):
    """An encoder's states are read by a decoder; a batch with a source is the decoder's."""

    def new_cache(self) -> list[Any]:
        return [DecoderCache()]

    def token_states(self, batch: Batch) -> Encoded:
        return self.encode(batch) if batch.source is None else self.decode(batch, self.encode(batch.source))

    def decode(self, batch: Batch, read: Encoded, *, cache: list[Any] | None = None) -> Encoded:
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
        return self._reading_flops(batch.source) + 3 * self._writing_flops(batch, rows=rows, time=time)

    def _reading_flops(self, batch: Batch) -> int:
        return super().body_flops(batch)

    def _writing_flops(self, batch: Batch, *, rows: int, time: int) -> int:
        raise NotImplementedError


class CoVeModel(_Decoding):
    """Layers that read both ways, and a decoder that attends to them (arXiv:1708.00107 §3). The encoder is what embeds."""

    def __init__(self, recipe: Recipe, *, vocabulary: int, decoder: AttentionDecoder) -> None:
        self._decoder_part = decoder
        super().__init__(recipe, vocabulary=vocabulary)

    def _build_body(self, vocabulary: int) -> None:
        network = self.recipe.network
        assert isinstance(network, Recurrent)
        self.embedding = self.recipe.embedding.build(vocabulary=vocabulary, positions=PositionModule())
        self.encoder = Bidirectional(network=network).build(self.recipe.embedding.width)
        self.decoder = self._decoder_part.build(self.recipe.embedding.width)

    @property
    def width(self) -> int:
        return self.encoder.part.output_width

    def _encode(self, batch: Batch, *, keep_layers: bool, cache: list[Any] | None) -> Encoded:
        value = self._embedded(batch)
        read = self.encoder(value, length=batch.length, keep_layers=keep_layers)
        return Encoded(last=read.last, layers=(value, *read.layers) if keep_layers else (), state=read.state)

    def _write(self, batch: Batch, value: Tensor, read: Encoded, held: Any) -> tuple[Tensor, Any]:
        assert batch.source is not None, "a decoder's batch has a source"
        length = batch.source.length
        if length is not None and len(length) != len(batch.tokens):
            length = length.expand(len(batch.tokens))
        return self.decoder(value, held or self.decoder.start(read.state), source=read.last, length=length)

    def _reading_flops(self, batch: Batch) -> int:
        rows, time = batch.tokens.shape
        return 3 * self.encoder.flops(rows=rows, time=time)

    def _writing_flops(self, batch: Batch, *, rows: int, time: int) -> int:
        assert batch.source is not None
        return self.decoder.flops(rows=rows, time=time, source=batch.source.tokens.shape[1])


class SkipThoughtModel(_Decoding):
    """One encoder, whose last state is the sentence's vector; a decoder for each neighbour (arXiv:1506.06726 §2.1)."""

    pooling = LAST

    def __init__(self, recipe: Recipe, *, vocabulary: int, decoder: VectorDecoder) -> None:
        self._decoder_part = decoder
        super().__init__(recipe, vocabulary=vocabulary)

    def _build_body(self, vocabulary: int) -> None:
        super()._build_body(vocabulary)
        embedding, vector = self.recipe.embedding.width, self.recipe.network.output_width
        self.decoders = nn.ModuleDict(
            {one.name: self._decoder_part.build(embedding, vector_width=vector) for one in self.recipe.objectives}
        )

    @property
    def _written_width(self) -> int:
        return self._decoder_part.width

    def _decoder(self, batch: Batch) -> VectorDecoderModule:
        """That of the neighbour which is asked for; without a question the first one's."""
        found = self.decoders[next(iter(batch.labels), self.recipe.objectives[0].name)]
        assert isinstance(found, VectorDecoderModule)
        return found

    def _write(self, batch: Batch, value: Tensor, read: Encoded, held: Any) -> tuple[Tensor, Any]:
        made: tuple[Tensor, State] = self._decoder(batch)(value, read.state[-1].hidden, state=held)
        return made

    def _writing_flops(self, batch: Batch, *, rows: int, time: int) -> int:
        return self._decoder(batch).flops(rows=rows, time=time)


def _for_rows(read: Encoded, rows: int) -> Encoded:
    """One text that was read, for all the beams that write after it."""
    if len(read.last) == rows:
        return read
    row = torch.zeros(rows, dtype=torch.long, device=read.last.device)
    return replace(read, last=read.last[row], state=tuple(layer.pick(row) for layer in read.state))
