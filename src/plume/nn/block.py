"""One Transformer block: attention, then a feed-forward network, each with its residual and norm."""

from __future__ import annotations

import enum

from torch import Tensor, nn

from plume.nn.activation import Activation
from plume.nn.attention import Attention, LayerCache, Sight
from plume.nn.dropout import dropout


class Norm(enum.StrEnum):
    """Where the layer norm stands: after the residual sum (2017, BERT) or before each sublayer (GPT-2)."""

    POST = "post"
    PRE = "pre"


class FeedForward(nn.Module):
    def __init__(self, *, width: int, inner: int, activation: Activation, drop: float) -> None:
        super().__init__()
        self.activation = activation
        self.drop = drop
        self.inner = nn.Linear(width, inner)
        self.output = nn.Linear(inner, width)

    def forward(self, value: Tensor) -> Tensor:
        return dropout(self.output(self.activation(self.inner(value))), self.drop, training=self.training)


class Block(nn.Module):
    def __init__(self, *, attention: Attention, feed_forward: FeedForward, norm: Norm, width: int, epsilon: float) -> None:
        super().__init__()
        self.norm = norm
        self.attention = attention
        self.attention_norm = nn.LayerNorm(width, eps=epsilon)
        self.feed_forward = feed_forward
        self.feed_forward_norm = nn.LayerNorm(width, eps=epsilon)

    def forward(self, value: Tensor, *, sight: Sight, layer: int, read: Tensor | None = None, cache: LayerCache | None = None) -> Tensor:
        """[B, T, D] to the same, or to [B, M, D] where only the positions `read` are wanted."""
        residual = value if read is None else _pick(value, read)
        if self.norm is Norm.PRE:
            looked_at = self.attention_norm(value)
            queries = None if read is None else _pick(looked_at, read)
            residual = residual + self.attention(looked_at, queries=queries, sight=sight, layer=layer, cache=cache)
            return residual + self.feed_forward(self.feed_forward_norm(residual))
        queries = None if read is None else residual
        residual = self.attention_norm(residual + self.attention(value, queries=queries, sight=sight, layer=layer, cache=cache))
        normed: Tensor = self.feed_forward_norm(residual + self.feed_forward(residual))
        return normed


def _pick(value: Tensor, read: Tensor) -> Tensor:
    return value.gather(1, read[:, :, None].expand(-1, -1, value.shape[2]))
