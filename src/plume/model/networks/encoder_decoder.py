"""An encoder that reads and a decoder that writes (arXiv:1706.03762 §3.1): T5, BART, PEGASUS, MASS, PALM and the first Transformer."""

from __future__ import annotations

from dataclasses import replace

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.nn.attention import Sight
from plume.nn.block import BlockCache
from plume.nn.positions.scheme import PositionModule
from plume.nn.stack import Stack, Transformer
from plume.nn.visibility import mask_of


class EncoderDecoderModel(Model):
    """`embedding` and `stack` are the encoder, the part that embeds; a batch with a source is the decoder's."""

    through_decoder = True

    def __init__(self, recipe: Recipe, *, vocabulary: int, decoder: Transformer) -> None:
        super().__init__(recipe, vocabulary=vocabulary)
        self.decoder_embedding = recipe.embedding.build(
            vocabulary=vocabulary, positions=self._positions(decoder, causal=True), token=self.embedding.token
        )
        self.decoder = decoder.build(embedding_width=recipe.embedding.width, sharing=recipe.sharing, decoder=True)
        self._nowhere = PositionModule()  # the look across knows no distances

    def new_cache(self) -> list[BlockCache]:
        return [BlockCache() for _ in range(self.decoder.part.depth)]

    def token_states(self, batch: Batch, *, keep_layers: bool = False) -> Encoded:
        """The decoder's, after its source; an encoder that fills masks answers for itself."""
        if batch.source is None:
            return self.encode(batch, keep_layers=keep_layers)
        return self.decode(batch, self.encode(batch.source), keep_layers=keep_layers)

    def _token_stack(self, batch: Batch) -> Stack:
        return self.stack if batch.source is None else self.decoder

    def decode(
        self,
        batch: Batch,
        read: Encoded,
        *,
        cache: list[BlockCache] | None = None,
        keep_layers: bool = False,
        record_attention: bool = False,
    ) -> Encoded:
        """Run the decoder over its own tokens and what the encoder made of `batch.source`."""
        if batch.source is None:
            raise PlumeError("A decoder's batch needs a source.")
        sight = self.sight(batch, held=cache[0].own.length if cache else 0)
        sight.positions = self.decoder_embedding.position
        sight.recorded = [] if record_attention else None
        sight.across = Sight(
            mask=mask_of(batch.source),
            positions=self._nowhere,
            query_position=sight.query_position,
            key_position=sight.query_position,
            source=read.last,
            recorded=[] if record_attention else None,
        )
        value = self.decoder_embedding(batch.tokens, sight.query_position, batch.segment, batch.within, extra=batch.extra)
        encoded = self.decoder(value, sight=sight, read=batch.read, cache=cache, keep_layers=keep_layers)
        return replace(encoded, source=batch.source, read=read.last)

    def body_flops(self, batch: Batch) -> int:
        if batch.source is None:
            return super().body_flops(batch)
        rows, time = batch.tokens.shape
        read = None if batch.read is None else batch.read.shape[1]
        positions = self.decoder_embedding.position
        own = self.decoder.step_flops(rows=rows, time=time, read=read, source=batch.source.tokens.shape[1], positions=positions)
        size = {"rows": rows, "queries": time if read is None else read, "source": batch.source.tokens.shape[1]}
        copying = sum(self.head(name).source_flops(**size) for name in batch.labels)
        widened = self.embedding.product_flops(rows * time)
        return own + 3 * (copying + widened) + super().body_flops(batch.source)
