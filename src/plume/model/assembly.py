"""Assembly: which networks a recipe is built of."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plume.core.part import Part, replace
from plume.nn.stack import Transformer

if TYPE_CHECKING:
    from plume.model.model import Model
    from plume.model.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class Assembly(Part):
    @property
    def generates(self) -> bool:
        """Is there a generator whose samples another network judges?"""
        return False

    @property
    def decodes(self) -> bool:
        """Is there a decoder that writes after an encoder has read?"""
        return False

    @property
    def streams(self) -> bool:
        """Is there a second stream that predicts?"""
        return False

    @property
    def writes(self) -> bool:
        """Can that stream go on with a text, at a place that nothing marks?"""
        return False

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class OneNetwork(Assembly):
    """One stack that every head reads."""

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.model import Model

        return Model(recipe, vocabulary=vocabulary)


@dataclass(frozen=True, kw_only=True)
class GeneratorDiscriminator(Assembly):
    """ELECTRA (arXiv:2003.10555 §3.1): a generator `fraction` as wide writes tokens that the discriminator judges; embeddings are shared."""

    fraction: float = 0.25
    heads: int | None = None  # where a published generator keeps other proportions
    feed_forward: int | None = None

    @property
    def generates(self) -> bool:
        return True

    def generator(self, network: Transformer) -> Transformer:
        """The generator's stack: the same depth, a fraction of the width, heads and feed-forward."""
        heads = self.heads or max(1, round(network.heads * self.fraction))
        width = max(heads, round(network.width * self.fraction) // heads * heads)
        feed_forward = self.feed_forward or max(1, round(network.feed_forward * self.fraction))
        return replace(network, width=width, heads=heads, feed_forward=feed_forward, pruned=())

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.electra import Electra

        return Electra(recipe, vocabulary=vocabulary, generator=self.generator(recipe.network))


@dataclass(frozen=True, kw_only=True)
class EncoderDecoder(Assembly):
    """An encoder reads, a decoder writes (arXiv:1706.03762); token vectors are shared. `depth` is the decoder's, if it differs."""

    depth: int | None = None

    @property
    def decodes(self) -> bool:
        return True

    def decoder(self, network: Transformer) -> Transformer:
        return replace(network, depth=self.depth or network.depth, pruned=())

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.encoder_decoder import EncoderDecoderModel

        return EncoderDecoderModel(recipe, vocabulary=vocabulary, decoder=self.decoder(recipe.network))


class QueryStart(enum.StrEnum):
    """What the query stream is at the input: one learned vector (XLNet §2.3), or what is shown there: masks with their positions (MPNet)."""

    LEARNED = "learned"
    MASK = "mask"


@dataclass(frozen=True, kw_only=True)
class TwoStreams(Assembly):
    """XLNet (arXiv:1906.08237 §2.3): beside the content stream a query stream, which knows a target's place but not the target."""

    query: QueryStart = QueryStart.LEARNED

    @property
    def streams(self) -> bool:
        return True

    @property
    def writes(self) -> bool:
        return self.query is QueryStart.LEARNED

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.two_streams import TwoStreamModel

        return TwoStreamModel(recipe, vocabulary=vocabulary, query=self.query)
