"""Skip-Thought: an encoder whose last state is a sentence's vector, from which decoders write the neighbouring sentences."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.model.networks.recurrent_decoding import RecurrentDecoding
from plume.model.recipe import Recipe
from plume.nn.pooling import LAST
from plume.nn.recurrent.rows import State
from plume.nn.recurrent.vector_decoder import VectorDecoder, VectorDecoderModule


class SkipThoughtModel(RecurrentDecoding):
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
