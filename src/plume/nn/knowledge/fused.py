"""Blocks with two streams, tokens and entities, that meet in the feed-forward network (ERNIE of Tsinghua, arXiv:1905.07129 §3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.core.knowledge import Knowledge
from plume.nn.attention import Sight
from plume.nn.block import Block, BlockCache, FeedForward, Norm, pick
from plume.nn.dropout import dropout
from plume.nn.fewer import keep_inputs, keep_outputs
from plume.nn.knowledge.vectors import EntityAttention, EntityVectors, gathered, mention_starts
from plume.nn.stack import Sharing, Stack, Transformer

# What lies in `Sight.left` from block to block: the entities' states [B, M, E], their tokens [B, M], which of them are there, what is read.
_STREAM, _PLACE, _THERE, _READ = "entities", "entity_places", "entities_there", "entities_read"
CANDIDATES, CANDIDATE_VECTORS = "candidates", "candidate_vectors"  # the batch's entities, in order of their ids, for the head


@dataclass(frozen=True, kw_only=True)
class EntityTransformer(Transformer):
    """Plain blocks, and above them `fused` ones in which the entities that a text mentions have a stream of their own."""

    needs_knowledge: ClassVar[bool] = True
    reads_arrays: ClassVar[tuple[str, ...]] = ("vectors",)

    fused: int = 6
    entities: int = 0  # of the knowledge base
    entity_width: int = 100
    entity_heads: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.fused <= self.depth:
            raise PlumeError(f"{self.fused} of {self.depth} blocks cannot have a stream of entities: from none to all of them can.")
        if self.entity_width % self.entity_heads:
            raise PlumeError(
                f"Entity vectors of width {self.entity_width} do not divide into {self.entity_heads} heads: set network.entity_heads, or make others "
                "(plume kb vectors --dimension)."
            )
        if self.norm is not Norm.POST or self.gated:
            raise PlumeError(
                "Tokens and entities meet in a plain feed-forward network under a norm behind it: leave norm and gated as they are."
            )

    def of_depth(self, depth: int) -> EntityTransformer:
        made = Transformer.of_depth(replace(self, fused=1), depth)
        return replace(made, fused=max(1, round(self.fused * depth / self.depth)))  # type: ignore[return-value, call-arg]

    def with_blocks(self, kept: Sequence[int]) -> EntityTransformer:
        below = self.depth - self.fused
        fewer = Transformer.with_blocks(replace(self, fused=0), kept)
        return replace(fewer, fused=sum(number >= below for number in kept))  # type: ignore[return-value, call-arg]

    def for_knowledge(self, knowledge: Knowledge) -> EntityTransformer:
        return replace(self, entities=len(knowledge.entities), entity_width=int(knowledge.array("vectors").shape[1]))

    def build(self, *, embedding_width: int, sharing: Sharing, decoder: bool = False) -> EntityStack:
        if decoder or sharing is not Sharing.NONE:
            raise PlumeError("Blocks with a stream of entities stand in an encoder, each with parameters of its own.")
        return EntityStack(self, embedding_width=embedding_width, sharing=sharing, decoder=decoder)


class EntityStack(Stack):
    """Begins the entities' stream before the first block, from what the batch carries; without mentions it is a stack of plain blocks."""

    part: EntityTransformer

    def __init__(self, part: EntityTransformer, **given: Any) -> None:
        super().__init__(part, **given)
        self.vectors = EntityVectors(part.entities, part.entity_width)

    def _block(self, layer: int, **given: Any) -> Block:
        part = self.part
        if layer < part.depth - part.fused:
            return super()._block(layer, **given)
        last = layer == part.depth - 1
        return FusedBlock(entity_width=part.entity_width, entity_heads=part.entity_heads, hands_on=not last, drop=part.dropout, **given)

    def forward(self, value: Tensor, *, sight: Sight, read: Tensor | None = None, **how: Any) -> Encoded:
        shown, candidates = links_shown(sight.named)
        if shown is not None and shown.shape[1] == value.shape[1]:
            if candidates is not None:
                sight.left |= {CANDIDATES: candidates, CANDIDATE_VECTORS: self.vectors(candidates)}
            place, there = gathered(shown >= 0)
            if place.shape[1]:
                sight.left |= {_STREAM: self.vectors(shown.gather(1, place)), _PLACE: place, _THERE: there}
                if read is not None:
                    sight.left[_READ] = read
        blocks = self._fused()
        for block in blocks:
            block.hands_on = block is not blocks[-1]
        encoded = super().forward(value, sight=sight, read=read, **how)
        kept = {name: encoded.named[name] for name in encoded.named if name not in (_STREAM, _PLACE, _THERE, _READ)}
        return replace(encoded, named=kept)

    def carried_step_flops(self, batch: Batch) -> int:
        shown, _ = links_shown({name: torch.as_tensor(values) for name, values in batch.named.items()})  # counted before it is torch's
        most = 0 if shown is None else int((shown >= 0).sum(1).max())
        if shown is None or not most:
            return super().carried_step_flops(batch)
        blocks = self._fused()
        if not blocks:
            return super().carried_step_flops(batch)
        forward = sum(block.entity_flops(rows=len(shown), entities=most, hands_on=block is not blocks[-1]) for block in blocks)
        # The vectors learn nothing: what is made of them first needs no gradient of its input.
        return super().carried_step_flops(batch) + 3 * forward - 3 * 2 * len(shown) * most * self.part.entity_width**2

    def _fused(self) -> list[FusedBlock]:
        """Those that a pass goes through."""
        return [stop.block for stop in self.way() if isinstance(stop.block, FusedBlock)]


class FusedFeedForward(FeedForward):
    """One hidden layer that reads a token and its entity, and from which both are written (eq. 3)."""

    def __init__(self, *, plain: FeedForward, entity_width: int, hands_on: bool) -> None:
        width, neurons = plain.inner.in_features, plain.neurons
        super().__init__(width=width, inner=neurons, activation=plain.activation, drop=plain.drop, bias=plain.inner.bias is not None)
        self.entity_inner = nn.Linear(entity_width, neurons, bias=False)
        self.entity_output = nn.Linear(neurons, entity_width) if hands_on else None

    @torch.no_grad()
    def prune(self, neurons: Sequence[int]) -> None:
        kept = [neuron for neuron in range(self.neurons) if neuron not in set(neurons)]
        super().prune(neurons)
        keep_outputs(self.entity_inner, kept)
        if self.entity_output is not None:
            keep_inputs(self.entity_output, kept)


class FusedBlock(Block):
    """Attention among tokens, attention among entities, and a feed-forward network in which a mention's first token meets its entity.

    The last one of a stack does not hand entities on: nobody would read them."""

    def __init__(self, *, entity_width: int, entity_heads: int, hands_on: bool, drop: float, **given: Any) -> None:
        fused = FusedFeedForward(plain=given.pop("feed_forward"), entity_width=entity_width, hands_on=hands_on)
        super().__init__(feed_forward=fused, **given)
        self.drop = drop
        self.hands_on = hands_on  # does a block behind it on the way of a pass read what it writes?
        self.entity_attention = EntityAttention(width=entity_width, heads=entity_heads, drop=drop)
        self.entity_norm = nn.LayerNorm(entity_width, eps=given["epsilon"])
        self.entity_output_norm = nn.LayerNorm(entity_width, eps=given["epsilon"]) if hands_on else None

    def forward(
        self,
        value: Tensor,
        *,
        sight: Sight,
        layer: int,
        asking: Tensor | None = None,
        memory: Tensor | None = None,
        cache: BlockCache | None = None,
    ) -> Tensor:
        if _STREAM not in sight.left:
            return super().forward(value, sight=sight, layer=layer, asking=asking, memory=memory, cache=cache)
        stream, place, there = (sight.left[name] for name in (_STREAM, _PLACE, _THERE))
        residual = value if asking is None else asking
        residual = self._add(residual, self.attention(value, queries=asking, sight=sight, layer=layer), self.attention_norm)
        looked = dropout(self.entity_attention(stream, stream, there), self.drop, training=self.training)
        stream = self.entity_norm(stream + looked)
        read = None if asking is None else sight.left[_READ]
        mask = None if sight.inner_mask is None else sight.inner_mask[layer]
        inner = self._meet(residual, stream, place, there, tokens=value.shape[1], read=read, mask=mask)
        feed_forward = self.feed_forward
        assert isinstance(feed_forward, FusedFeedForward)
        if self.hands_on and feed_forward.entity_output is not None and self.entity_output_norm is not None:
            at = inner.gather(1, place[:, :, None].expand(-1, -1, inner.shape[2]))
            written = dropout(feed_forward.entity_output(at), self.drop, training=self.training)
            sight.left[_STREAM] = self.entity_output_norm(stream + written)
        return self._add(residual, dropout(feed_forward.output(inner), feed_forward.drop, training=self.training), self.feed_forward_norm)

    def _meet(
        self, residual: Tensor, stream: Tensor, place: Tensor, there: Tensor, *, tokens: int, read: Tensor | None, mask: Tensor | None
    ) -> Tensor:
        """[B, Q, I] the activation of the sum of both projections; a token without an entity has its own alone."""
        feed_forward = self.feed_forward
        assert isinstance(feed_forward, FusedFeedForward)
        brought = feed_forward.entity_inner(stream) * there[..., None]  # [B, M, I]
        laid = brought.new_zeros(len(brought), tokens, brought.shape[2]).scatter_add(1, place[:, :, None].expand_as(brought), brought)
        inner = feed_forward.activation(feed_forward.inner(residual) + (laid if read is None else pick(laid, read)))
        return inner if mask is None else inner * mask[..., None, :]

    def entity_flops(self, *, rows: int, entities: int, hands_on: bool) -> int:
        """Of the products that a batch with so many entities a row adds, forward."""
        feed_forward = self.feed_forward
        assert isinstance(feed_forward, FusedFeedForward)
        width = feed_forward.entity_inner.in_features * feed_forward.neurons
        joined = 2 * rows * entities * width * (2 if hands_on and feed_forward.entity_output is not None else 1)
        return self.entity_attention.flops(rows=rows, queries=entities, keys=entities) + joined


def links_shown(named: Mapping[str, Tensor]) -> tuple[Tensor | None, Tensor | None]:
    """[B, T] the entity that the network is shown at each mention's first token, −1 elsewhere; and the batch's entities, in order.

    The data side may have laid noise over the links (`noise/links.py`): what it says to replace is by another entity of the batch, really another."""
    # Also of a batch that is still numpy's: what a step costs is asked before it goes to a device.
    mentions, links = (None if named.get(name) is None else torch.as_tensor(named[name]) for name in ("mentions", "links"))
    if mentions is None:
        return links, None
    starts = mention_starts(mentions)
    own = torch.where(starts, mentions, -1)
    candidates = torch.unique(mentions[starts])
    if links is None:
        return own, candidates
    if len(candidates) < 2:
        return links.clamp(min=-1), candidates
    number = torch.searchsorted(candidates, own.clamp(min=0)).clamp(max=len(candidates) - 1)
    step = 1 + (-2 - links).clamp(min=0) % (len(candidates) - 1)
    return torch.where(links < -1, candidates[(number + step) % len(candidates)], links), candidates
