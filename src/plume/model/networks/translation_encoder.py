"""CoVe: an encoder that reads both ways, trained by the translation that a decoder writes from it."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from plume.core.batch import Batch, Encoded
from plume.model.networks.recurrent_decoding import RecurrentDecoding
from plume.model.recipe import Recipe
from plume.nn.positions.scheme import PositionModule
from plume.nn.recurrent.attention_decoder import AttentionDecoder
from plume.nn.recurrent.bidirectional import Bidirectional
from plume.nn.recurrent.recurrent import Recurrent


class CoVeModel(RecurrentDecoding):
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
        return 3 * (self.encoder.flops(rows=rows, time=time) + self.embedding.product_flops(rows * time))

    def _writing_flops(self, batch: Batch, *, rows: int, time: int) -> int:
        assert batch.source is not None
        return self.decoder.flops(rows=rows, time=time, source=batch.source.tokens.shape[1])
