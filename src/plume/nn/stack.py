"""The stack of blocks: what BERT, GPT and their kin call the Transformer."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from plume.core.batch import Encoded
from plume.core.errors import PlumeError
from plume.nn.activation import Activation
from plume.nn.attention import Attention, Sight
from plume.nn.between import Between, BetweenModule
from plume.nn.block import Block, BlockCache, FeedForward, Norm, NormKind, pick
from plume.nn.network import Network
from plume.nn.positions.scheme import PositionModule
from plume.nn.watching import Watch


class Sharing(enum.StrEnum):
    """Which parameters all blocks have in common (ALBERT §3.1)."""

    NONE = "none"
    ALL = "all"
    ATTENTION = "attention"
    FEED_FORWARD = "feed_forward"


@dataclass(frozen=True, kw_only=True)
class Transformer(Network):
    """A stack of blocks (arXiv:1706.03762): what BERT, GPT and most families are made of. `depth` blocks of `heads` heads, `width` wide."""

    width: int = 768
    depth: int = 12
    heads: int = 12
    feed_forward: int = 3072
    activation: Activation = Activation.GELU
    norm: Norm = Norm.POST
    dropout: float = 0.1
    attention_dropout: float = 0.1
    epsilon: float = 1e-12
    norm_kind: NormKind = NormKind.LAYER
    key_width: int | None = None  # of a head; None: width / heads
    bias: bool = True  # in the feed-forward products
    attention_bias: bool = True
    scaled: bool = True  # scores by 1/sqrt(head width); T5 leaves it out
    gated: bool = False  # arXiv:2002.05202; T5 1.1
    initial_range: float = 0.02
    residual_scaling: bool = False  # GPT-2 §2.3: projections into the residual start 1/sqrt(2 depth) smaller
    pruned: tuple[tuple[int, ...], ...] = ()  # heads taken out, a tuple a block
    between: tuple[Between, ...] = ()  # modules between two blocks, in the order in which they run

    def __post_init__(self) -> None:
        for name in ("width", "depth", "heads", "feed_forward"):
            if getattr(self, name) < 1:
                raise PlumeError(f"A network needs a {name} of at least 1, not {getattr(self, name)}.")
        if self.key_width is None and self.width % self.heads:
            raise PlumeError(f"A width of {self.width} does not divide into {self.heads} heads.")
        for one in self.between:
            if not 0 <= one.after < self.depth:
                raise PlumeError(
                    f"{type(one).__name__} cannot stand after {one.after} of {self.depth} blocks: there must be one behind it."
                )

    @property
    def head_width(self) -> int:
        """Of each head's queries and keys."""
        return self.key_width or self.width // self.heads

    def build(self, *, embedding_width: int, sharing: Sharing, decoder: bool = False) -> Stack:
        """A decoder's blocks also look at what an encoder made."""
        return Stack(self, embedding_width=embedding_width, sharing=sharing, decoder=decoder)


class Stack(nn.Module):
    """The blocks of a Transformer, one after the other, with what stands between them."""

    def __init__(self, part: Transformer, *, embedding_width: int, sharing: Sharing, decoder: bool) -> None:
        super().__init__()
        self.part = part
        self.sharing = sharing
        self.checkpointing = False
        self.watch: Watch | None = None  # of whoever looks inside, or switches heads off
        self.project = nn.Linear(embedding_width, part.width) if embedding_width != part.width else None
        attention = [self._attention() for _ in range(1 if sharing in (Sharing.ALL, Sharing.ATTENTION) else part.depth)]
        feed_forward = [self._feed_forward() for _ in range(1 if sharing in (Sharing.ALL, Sharing.FEED_FORWARD) else part.depth)]
        count = 1 if sharing is Sharing.ALL else part.depth
        blocks = [
            Block(
                attention=attention[i % len(attention)],
                feed_forward=feed_forward[i % len(feed_forward)],
                across=self._attention() if decoder else None,
                norm=part.norm,
                kind=part.norm_kind,
                width=part.width,
                epsilon=part.epsilon,
            )
            for i in range(count)
        ]
        self.blocks = nn.ModuleList(blocks)
        self.between = nn.ModuleList(one.build(part.width) for one in part.between)
        self.final_norm = part.norm_kind.build(part.width, part.epsilon) if part.norm is Norm.PRE else None
        if any(part.pruned) and sharing in (Sharing.ALL, Sharing.ATTENTION):
            raise PlumeError("Heads cannot be pruned block by block where all blocks share one attention.")
        for layer, heads in enumerate(part.pruned):
            if heads:
                self.block(layer).attention.prune(list(heads))

    def _attention(self) -> Attention:
        part = self.part
        return Attention(
            width=part.width,
            heads=part.heads,
            head_width=part.head_width,
            drop=part.dropout,
            attention_drop=part.attention_dropout,
            bias=part.attention_bias,
            scaled=part.scaled,
        )

    def _feed_forward(self) -> FeedForward:
        part = self.part
        return FeedForward(
            width=part.width, inner=part.feed_forward, activation=part.activation, drop=part.dropout, bias=part.bias, gated=part.gated
        )

    def block(self, layer: int) -> Block:
        """The one that runs at this depth; with shared parameters all are one."""
        block = self.blocks[layer % len(self.blocks)]
        assert isinstance(block, Block)
        return block

    def forward(
        self,
        value: Tensor,
        *,
        sight: Sight,
        read: Tensor | None = None,
        seen: int | None = None,
        memory: Sequence[Tensor] | None = None,
        cache: list[BlockCache] | None = None,
        keep_layers: bool = False,
    ) -> Encoded:
        """[B, T, E] embeddings to [B, T, D], or [B, M, D] at the positions `read`.

        `seen`: only the first so many are looked at, the others only look (a query stream). `memory`: a layer's earlier inputs each.
        """
        if self.project is not None:
            value = self.project(value)
        if self.watch is not None:
            sight = self.watch.over(sight)
        sight.positions.prepare(sight)
        layers = [value]
        last = self.part.depth - 1
        for layer in range(self.part.depth):
            value = self._between(layer, value, sight)
            content = value if seen is None else value[:, :seen]
            asking = None if seen is None else value
            sees = sight
            if layer == last and read is not None:
                asking, sees = pick(value, read), self._narrowed(sight, read, content.shape[1])
                sees.positions.prepare(sees)
            block = self.block(layer)
            given: dict[str, Any] = {
                "sight": sees,
                "layer": layer,
                "asking": asking,
                "memory": None if memory is None else memory[layer],
                "cache": None if cache is None else cache[layer],
            }
            if self.checkpointing and self.training:
                value = checkpoint(block, content, **given, use_reentrant=False)
            else:
                value = block(content, **given)
            if layer == last and self.final_norm is not None:
                value = self.final_norm(value)
            if keep_layers:
                layers.append(value)
        across = sight.across.recorded if sight.across is not None else None
        return Encoded(
            last=value,
            layers=tuple(layers) if keep_layers else (),
            attention=tuple(sight.recorded or ()),
            cross_attention=tuple(across or ()),
            named=sight.left,
        )

    def as_last(self, layers: Sequence[Tensor]) -> list[Tensor]:
        """Layers that were kept, as a head reads the last: blocks with their norms in front leave sums, which the final norm makes readable."""
        if self.final_norm is None:
            return list(layers)
        return [*(self.final_norm(layer) for layer in layers[:-1]), layers[-1]]

    def _between(self, layer: int, value: Tensor, sight: Sight) -> Tensor:
        for place, module in zip(self.part.between, self.between, strict=True):
            if place.after == layer:
                value = module(value, sight)
        return value

    def flops(
        self,
        *,
        rows: int,
        time: int,
        positions: PositionModule,
        read: int | None = None,
        seen: int | None = None,
        memory: int = 0,
        source: int = 0,
    ) -> int:
        """Of the matrix products of one forward pass, two a multiply-add. `source` is the length a decoder looks at."""
        part = self.part
        total = 0 if self.project is None else 2 * rows * time * self.project.in_features * part.width
        keys = (time if seen is None else seen) + memory
        for layer in range(part.depth):
            queries = time if read is None or layer < part.depth - 1 else read
            block = self.block(layer)
            total += block.attention.flops(rows=rows, queries=queries, keys=keys)
            total += positions.flops(rows=rows, queries=queries, keys=keys, before=memory)
            if block.across is not None and source:
                total += block.across.flops(rows=rows, queries=queries, keys=source)
            total += 2 * rows * queries * (3 if part.gated else 2) * part.width * part.feed_forward
        for module in self.between:
            assert isinstance(module, BetweenModule)
            total += module.flops(rows=rows, time=time)
        return total

    def step_flops(
        self,
        *,
        rows: int,
        time: int,
        positions: PositionModule,
        read: int | None = None,
        seen: int | None = None,
        memory: int = 0,
        source: int = 0,
    ) -> int:
        """Of a training step: forward, and twice that backward, but for the position scheme's products with what is fixed."""
        size = {"rows": rows, "keys": (time if seen is None else seen) + memory, "before": memory}
        last = time if read is None else read
        fixed = (self.part.depth - 1) * positions.fixed_flops(queries=time, **size) + positions.fixed_flops(queries=last, **size)
        forward = self.flops(rows=rows, time=time, positions=positions, read=read, seen=seen, memory=memory, source=source)
        return 3 * forward - fixed

    @staticmethod
    def _narrowed(sight: Sight, read: Tensor, length: int) -> Sight:
        position = sight.query_position.expand(len(read), -1).gather(1, read)
        segment = None if sight.query_segment is None else sight.query_segment.expand(len(read), -1).gather(1, read)
        # What a scheme shared was made for all queries.
        return replace(sight, mask=sight.mask.rows(read, length), query_position=position, query_segment=segment, in_order=False, shared={})

    @torch.no_grad()
    def initialise(self) -> None:
        """Scale the projections into the residual, where the paper does."""
        if self.part.residual_scaling:
            for block in self.blocks:
                assert isinstance(block, Block)
                for output in (block.attention.output, block.feed_forward.output):
                    output.weight.mul_((2 * self.part.depth) ** -0.5)


@torch.no_grad()
def initialise(module: nn.Module, spread: float) -> None:
    """Weights normal with the given spread, biases zero, norms one: every family here starts so."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=spread)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=spread)
        elif isinstance(part, PositionModule):
            part.initialise(spread)
