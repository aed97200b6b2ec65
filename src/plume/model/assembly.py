"""Assembly: which networks a recipe is built of."""

from __future__ import annotations

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
