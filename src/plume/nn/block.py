"""One Transformer block: attention, then a feed-forward network, each with its residual and norm. A decoder's looks across in between."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.nn.activation import Activation
from plume.nn.attention import Attention, LayerCache, Sight
from plume.nn.dropout import dropout
from plume.nn.fewer import keep_inputs, keep_outputs


class Norm(enum.StrEnum):
    """Where the norm stands: after the residual sum (2017, BERT) or before each sublayer (GPT-2)."""

    POST = "post"
    PRE = "pre"


class NormKind(enum.StrEnum):
    """LayerNorm, or only its scaling: no mean, no bias (RMS norm, arXiv:1910.07467; T5)."""

    LAYER = "layer"
    RMS = "rms"

    def build(self, width: int, epsilon: float) -> nn.Module:
        """The norm, for states of that width."""
        return nn.LayerNorm(width, eps=epsilon) if self is NormKind.LAYER else nn.RMSNorm(width, eps=epsilon)


@dataclass
class BlockCache:
    """A block's keys and values while generating: of its own tokens, and of the source."""

    own: LayerCache = field(default_factory=LayerCache)
    source: LayerCache = field(default_factory=LayerCache)

    def reorder(self, rows: Tensor) -> None:
        """Keep these rows, in this order."""
        self.own.reorder(rows)
        self.source.reorder(rows)


class FeedForward(nn.Module):
    """Two products with an activation between them (arXiv:1706.03762 §3.3)."""

    def __init__(self, *, width: int, inner: int, activation: Activation, drop: float, bias: bool = True, gated: bool = False) -> None:
        super().__init__()
        self.activation = activation
        self.drop = drop
        self.inner = nn.Linear(width, inner, bias=bias)
        self.gate = nn.Linear(width, inner, bias=bias) if gated else None  # arXiv:2002.05202: the activation gates a second product
        self.output = nn.Linear(inner, width, bias=bias)

    def forward(self, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """[B, T, D] to the same; `mask` are factors of the neurons inside, [I], or [B, I]: others in each row."""
        inner = self.activation(self.inner(value)) if self.gate is None else self.activation(self.gate(value)) * self.inner(value)
        if mask is not None:
            inner = inner * mask[..., None, :]
        return dropout(self.output(inner), self.drop, training=self.training)

    @property
    def neurons(self) -> int:
        """How many there are inside."""
        return self.inner.out_features

    @torch.no_grad()
    def prune(self, neurons: Sequence[int]) -> None:
        """Take these out for good."""
        gone = set(neurons)
        kept = [neuron for neuron in range(self.neurons) if neuron not in gone]
        if not kept:
            raise PlumeError("At least one neuron of a feed-forward network must stay.")
        for linear in (self.inner, self.gate):
            if linear is not None:
                keep_outputs(linear, kept)
        keep_inputs(self.output, kept)


class Block(nn.Module):
    """Attention, a decoder's look across, and feed-forward, each with its residual and its norm."""

    def __init__(
        self,
        *,
        attention: Attention,
        feed_forward: FeedForward,
        across: Attention | None,
        norm: Norm,
        kind: NormKind,
        width: int,
        epsilon: float,
    ) -> None:
        super().__init__()
        self.norm = norm
        self.attention = attention
        self.attention_norm = kind.build(width, epsilon)
        self.across = across
        self.across_norm = kind.build(width, epsilon) if across is not None else None
        self.feed_forward = feed_forward
        self.feed_forward_norm = kind.build(width, epsilon)

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
        """value [B, T, D] is looked at, after `memory` [B, M, D]; `asking` [B, Q, D] looks (None: value). Returns [B, Q, D]."""
        pre = self.norm is Norm.PRE
        residual = value if asking is None else asking
        seen = self.attention_norm(value) if pre else value
        if memory is not None:
            seen = torch.cat([self.attention_norm(memory) if pre else memory, seen], dim=1)
        queries = residual if asking is not None or memory is not None else None
        if pre and queries is not None:
            queries = self.attention_norm(queries)
        held = None if cache is None else cache.own
        residual = self._add(residual, self.attention(seen, queries=queries, sight=sight, layer=layer, cache=held), self.attention_norm)
        if self.across is not None and self.across_norm is not None and sight.across is not None:
            asked = self.across_norm(residual) if pre else residual
            held = None if cache is None else cache.source
            residual = self._add(residual, self.across.look_across(asked, sight=sight.across, layer=layer, cache=held), self.across_norm)
        mask = None if sight.inner_mask is None else sight.inner_mask[layer]
        added = self.feed_forward(self.feed_forward_norm(residual) if pre else residual, mask)
        return self._add(residual, added, self.feed_forward_norm)

    def _add(self, residual: Tensor, added: Tensor, norm: nn.Module) -> Tensor:
        total = residual + added
        if self.norm is Norm.PRE:
            return total
        normed: Tensor = norm(total)
        return normed


def pick(value: Tensor, read: Tensor) -> Tensor:
    """[B, T, D] at [B, M] positions."""
    return value.gather(1, read[:, :, None].expand(-1, -1, value.shape[2]))
