"""The stack of blocks: what BERT, GPT and their kin call the Transformer."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from plume.core.batch import Encoded
from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.nn.activation import Activation
from plume.nn.attention import Attention, LayerCache, Sight
from plume.nn.block import Block, FeedForward, Norm


class Sharing(enum.StrEnum):
    """Which parameters all blocks have in common (ALBERT §3.1)."""

    NONE = "none"
    ALL = "all"
    ATTENTION = "attention"
    FEED_FORWARD = "feed_forward"


@dataclass(frozen=True, kw_only=True)
class Transformer(Part):
    width: int = 768
    depth: int = 12
    heads: int = 12
    feed_forward: int = 3072
    activation: Activation = Activation.GELU
    norm: Norm = Norm.POST
    dropout: float = 0.1
    attention_dropout: float = 0.1
    epsilon: float = 1e-12
    initial_range: float = 0.02
    residual_scaling: bool = False  # GPT-2 §2.3: projections into the residual start 1/sqrt(2 depth) smaller
    pruned: tuple[tuple[int, ...], ...] = ()  # heads taken out, a tuple a block

    def __post_init__(self) -> None:
        for name in ("width", "depth", "heads", "feed_forward"):
            if getattr(self, name) < 1:
                raise PlumeError(f"A network needs a {name} of at least 1, not {getattr(self, name)}.")
        if self.width % self.heads:
            raise PlumeError(f"A width of {self.width} does not divide into {self.heads} heads.")

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    def build(self, *, embedding_width: int, sharing: Sharing) -> Stack:
        return Stack(self, embedding_width=embedding_width, sharing=sharing)


class Stack(nn.Module):
    def __init__(self, part: Transformer, *, embedding_width: int, sharing: Sharing) -> None:
        super().__init__()
        self.part = part
        self.sharing = sharing
        self.checkpointing = False
        self.project = nn.Linear(embedding_width, part.width) if embedding_width != part.width else None
        attention = [self._attention() for _ in range(1 if sharing in (Sharing.ALL, Sharing.ATTENTION) else part.depth)]
        feed_forward = [self._feed_forward() for _ in range(1 if sharing in (Sharing.ALL, Sharing.FEED_FORWARD) else part.depth)]
        count = 1 if sharing is Sharing.ALL else part.depth
        blocks = [
            Block(
                attention=attention[i % len(attention)],
                feed_forward=feed_forward[i % len(feed_forward)],
                norm=part.norm,
                width=part.width,
                epsilon=part.epsilon,
            )
            for i in range(count)
        ]
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = nn.LayerNorm(part.width, eps=part.epsilon) if part.norm is Norm.PRE else None
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
        )

    def _feed_forward(self) -> FeedForward:
        part = self.part
        return FeedForward(width=part.width, inner=part.feed_forward, activation=part.activation, drop=part.dropout)

    def block(self, layer: int) -> Block:
        block = self.blocks[layer % len(self.blocks)]
        assert isinstance(block, Block)
        return block

    def forward(
        self,
        value: Tensor,
        *,
        sight: Sight,
        read: Tensor | None = None,
        cache: list[LayerCache] | None = None,
        keep_layers: bool = False,
    ) -> Encoded:
        """[B, T, E] embeddings to [B, T, D], or [B, M, D] at the positions `read`."""
        if self.project is not None:
            value = self.project(value)
        layers = [value]
        last = self.part.depth - 1
        for layer in range(self.part.depth):
            wanted = read if layer == last else None
            seen = sight if wanted is None else self._narrowed(sight, wanted, value.shape[1])
            held = cache[layer] if cache is not None else None
            block = self.block(layer)
            if self.checkpointing and self.training:
                value = checkpoint(block, value, sight=seen, layer=layer, read=wanted, cache=held, use_reentrant=False)
            else:
                value = block(value, sight=seen, layer=layer, read=wanted, cache=held)
            if layer == last and self.final_norm is not None:
                value = self.final_norm(value)
            if keep_layers:
                layers.append(value)
        return Encoded(last=value, layers=tuple(layers) if keep_layers else (), attention=tuple(sight.recorded or ()))

    def flops(self, *, rows: int, time: int, read: int | None = None) -> int:
        """Of the matrix products of one forward pass, two a multiply-add."""
        part = self.part
        total = 0 if self.project is None else 2 * rows * time * self.project.in_features * part.width
        for layer in range(part.depth):
            queries = time if read is None or layer < part.depth - 1 else read
            total += self.block(layer).attention.flops(rows=rows, queries=queries, keys=time)
            total += 2 * rows * queries * 2 * part.width * part.feed_forward
        return total

    @staticmethod
    def _narrowed(sight: Sight, read: Tensor, length: int) -> Sight:
        position = sight.query_position.expand(len(read), -1).gather(1, read)
        return replace(sight, mask=sight.mask.rows(read, length), query_position=position)

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
