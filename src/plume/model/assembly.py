"""Assembly: which networks a recipe is built of."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plume.core.part import Part, replace
from plume.nn.recurrent.layer import RecurrentCell
from plume.nn.recurrent.recurrent import Recurrent
from plume.nn.recurrent.vector_decoder import Conditioning
from plume.nn.stack import Transformer

if TYPE_CHECKING:
    from plume.model.networks.model import Model
    from plume.model.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class Assembly(Part):
    """Which networks there are, and how they work together."""

    @property
    def generates(self) -> bool:
        """Is there a generator whose samples another network judges?"""
        return False

    @property
    def decodes(self) -> bool:
        """Is there a decoder that writes after an encoder has read?"""
        return False

    @property
    def retrieves(self) -> bool:
        """Does it look up documents, which it must be given?"""
        return False

    @property
    def streams(self) -> bool:
        """Is there a second stream that predicts?"""
        return False

    @property
    def writes(self) -> bool:
        """Can that stream go on with a text, at a place that nothing marks?"""
        return False

    @property
    def directions(self) -> int:
        """How many recurrent networks read the text, each from its side."""
        return 1

    @property
    def both_ways(self) -> bool:
        """Does one network see both sides of every token although it is recurrent?"""
        return False

    @property
    def recurs(self) -> bool:
        """Is it made of recurrent networks only?"""
        return False

    def misfits(self, network: Recurrent) -> list[str]:
        """Why it cannot be made of this recurrent network."""
        return []

    def problems(self, recipe: Recipe, name: str) -> Iterator[str]:
        turned = [kind.name for kind in recipe.kinds if kind.layout.directions > 1]
        if turned and self.directions < 2 and not recipe.positions.mirrors:
            yield f"{turned[0]}: half of the rows run backwards, and no network reads them; set assembly=TwoDirections()."
        if isinstance(recipe.network, Recurrent):
            yield from self.misfits(recipe.network)
            if self.directions > 1 and len(turned) < len(recipe.kinds):
                yield "one of the two directions would have nothing to read; set layout=Streams(backward=True)."
        elif self.directions > 1:
            yield "two directions are read by recurrent networks; a Transformer sees both sides by itself."
        elif self.recurs:
            yield f"{type(self).__name__} is made of recurrent networks; set network=Recurrent()."

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        """The networks of the recipe, with first weights."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class OneNetwork(Assembly):
    """One stack that every head reads."""

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.networks.model import Model
        from plume.model.networks.recurrent import RecurrentModel

        return (RecurrentModel if recipe.recurrent else Model)(recipe, vocabulary=vocabulary)


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
        return replace(network, width=width, heads=heads, feed_forward=feed_forward, pruned=(), inner=())

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.networks.electra import Electra

        return Electra(recipe, vocabulary=vocabulary, generator=self.generator(recipe.transformer))


@dataclass(frozen=True, kw_only=True)
class EncoderDecoder(Assembly):
    """An encoder reads, a decoder writes (arXiv:1706.03762); token vectors are shared. `depth` is the decoder's, if it differs, and so are
    the heads and neurons that were taken out of it, as `Transformer` has them."""

    depth: int | None = None
    pruned: tuple[tuple[int, ...], ...] = ()
    pruned_across: tuple[tuple[int, ...], ...] = ()
    inner: tuple[int, ...] = ()

    @property
    def decodes(self) -> bool:
        return True

    def decoder(self, network: Transformer) -> Transformer:
        """The decoder's stack: the encoder's, of its own depth."""
        own = {"pruned": self.pruned, "pruned_across": self.pruned_across, "inner": self.inner}
        return replace(network, depth=self.depth or network.depth, **own)

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.networks.encoder_decoder import EncoderDecoderModel

        return EncoderDecoderModel(recipe, vocabulary=vocabulary, decoder=self.decoder(recipe.transformer))


@dataclass(frozen=True, kw_only=True)
class TwoDirections(Assembly):
    """ELMo (arXiv:1802.05365 §3.1): two recurrent networks, one for each direction; what they read and predict with is shared."""

    @property
    def directions(self) -> int:
        return 2

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.networks.bilm import BiLM

        return BiLM(recipe, vocabulary=vocabulary)


@dataclass(frozen=True, kw_only=True)
class BothWays(Assembly):
    """DeepMoji (arXiv:1708.00524 §3.2): recurrent layers that read both ways; heads see every layer's output and the token vectors, joined."""

    penalty: float = 0.0  # on the squared token vectors, in training

    @property
    def both_ways(self) -> bool:
        return True

    @property
    def recurs(self) -> bool:
        return True

    def misfits(self, network: Recurrent) -> list[str]:
        odd = network.residual or network.output or network.locked
        return ["layers that read both ways have one width, no residual and no locked dropout."] if odd else []

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.networks.both_ways import BothWaysModel

        return BothWaysModel(recipe, vocabulary=vocabulary, penalty=self.penalty)


@dataclass(frozen=True, kw_only=True)
class AttentionalDecoder(Assembly):
    """CoVe (arXiv:1708.00107 §3): recurrent layers that read both ways, and a recurrent decoder as wide as both that attends to them."""

    dropout: float = 0.2

    @property
    def decodes(self) -> bool:
        return True

    @property
    def recurs(self) -> bool:
        return True

    def misfits(self, network: Recurrent) -> list[str]:
        plain = replace(network, projection=None, projection_clip=None, output=None, cell=RecurrentCell.LSTM, residual=False, locked=False)
        same = plain == network
        return (
            [] if same else ["its decoder goes on from LSTM layers of one width; leave out cell, projection, output, residual and locked."]
        )

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.networks.translation_encoder import CoVeModel
        from plume.nn.recurrent.attention_decoder import AttentionDecoder

        decoder = AttentionDecoder(width=2 * recipe.network.output_width, depth=recipe.network.depth, dropout=self.dropout)
        return CoVeModel(recipe, vocabulary=vocabulary, decoder=decoder)


@dataclass(frozen=True, kw_only=True)
class NeighbourDecoders(Assembly):
    """Skip-Thought (arXiv:1506.06726 §2.1): a recurrent encoder, and for each objective a decoder that knows its last state only."""

    conditioning: Conditioning = Conditioning.GATES

    @property
    def decodes(self) -> bool:
        return True

    @property
    def recurs(self) -> bool:
        return True

    def build(self, recipe: Recipe, *, vocabulary: int) -> Model:
        from plume.model.networks.neighbour_decoders import SkipThoughtModel
        from plume.nn.recurrent.vector_decoder import VectorDecoder

        decoder = VectorDecoder(width=recipe.network.width, conditioning=self.conditioning)
        return SkipThoughtModel(recipe, vocabulary=vocabulary, decoder=decoder)


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
        from plume.model.networks.two_streams import TwoStreamModel

        return TwoStreamModel(recipe, vocabulary=vocabulary, query=self.query)
