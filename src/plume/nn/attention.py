"""Scaled dot-product attention with many heads (arXiv:1706.03762 §3.2), one for every family.

The families differ in the mask and in where position enters, and both come from outside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.nn.dropout import dropout
from plume.nn.positions.scheme import PositionModule
from plume.nn.visibility import Mask

# Below this length the plain products beat the fused kernel on a CPU (measured, forward and backward together).
_SHORT = 256


@dataclass(kw_only=True)
class Sight:
    """What one pass through the stack needs besides the values: who sees whom, and where everything stands."""

    mask: Mask
    positions: PositionModule
    query_position: Tensor  # [B or 1, Tq]
    key_position: Tensor  # [B or 1, Tk], cached keys included
    head_mask: Tensor | None = None  # [depth, H] factors
    recorded: list[Tensor] | None = None  # attention probabilities are appended here when they are wanted


class LayerCache:
    """Keys and values of earlier tokens, for generation; grows by doubling so that a step copies nothing but itself."""

    def __init__(self) -> None:
        self.length = 0
        self._key: Tensor | None = None
        self._value: Tensor | None = None

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """[B, H, T, W] new keys and values in, all so far out."""
        end = self.length + key.shape[2]
        self._key, self._value = self._room(self._key, key, end), self._room(self._value, value, end)
        self._key[:, :, self.length : end] = key
        self._value[:, :, self.length : end] = value
        self.length = end
        return self._key[:, :, :end], self._value[:, :, :end]

    def _room(self, held: Tensor | None, new: Tensor, end: int) -> Tensor:
        if held is not None and held.shape[2] >= end:
            return held
        grown = new.new_empty(*new.shape[:2], max(end, 2 * (0 if held is None else held.shape[2]), 64), new.shape[3])
        if held is not None:
            grown[:, :, : self.length] = held[:, :, : self.length]
        return grown

    def reorder(self, rows: Tensor) -> None:
        """Keep these rows, in this order: a beam search moves its histories."""
        assert self._key is not None and self._value is not None, "reorder before anything was cached"
        self._key, self._value = self._key[rows], self._value[rows]


class Attention(nn.Module):
    def __init__(self, *, width: int, heads: int, head_width: int, drop: float, attention_drop: float, bias: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.head_width = head_width
        self.drop, self.attention_drop = drop, attention_drop
        inner = heads * head_width
        self.query = nn.Linear(width, inner, bias=bias)
        self.key = nn.Linear(width, inner, bias=bias)
        self.value = nn.Linear(width, inner, bias=bias)
        self.output = nn.Linear(inner, width, bias=bias)

    def forward(self, value: Tensor, *, queries: Tensor | None, sight: Sight, layer: int, cache: LayerCache | None = None) -> Tensor:
        """value [B, T, D] is looked at; queries [B, M, D] look (None: all of value)."""
        asking = value if queries is None else queries
        query, key, content = self._split(self.query(asking)), self._split(self.key(value)), self._split(self.value(value))
        new_keys = sight.key_position[:, -value.shape[1] :]
        turned, key = sight.positions.at_query_key(query, key, sight.query_position, new_keys)
        if cache is not None:
            key, content = cache.extend(key, content)
        bias = sight.positions.at_scores(query, sight.query_position, sight.key_position)
        mixed = self._mix(turned, key, content, bias, sight)
        if sight.head_mask is not None:
            mixed = mixed * sight.head_mask[layer][:, None, None]  # the same as scaling the head's probabilities
        merged = mixed.transpose(1, 2).reshape(*asking.shape[:2], self.heads * self.head_width)
        return dropout(self.output(merged), self.drop, training=self.training)

    def _split(self, value: Tensor) -> Tensor:
        return value.view(*value.shape[:2], self.heads, self.head_width).transpose(1, 2)

    def _mix(self, query: Tensor, key: Tensor, content: Tensor, bias: Tensor | None, sight: Sight) -> Tensor:
        drop = self.attention_drop if self.training else 0.0
        # Plain products where probabilities are wanted or dropped (no CPU kernel drops), and where they are simply faster.
        short = query.device.type == "cpu" and torch.is_grad_enabled() and key.shape[2] <= _SHORT
        if sight.recorded is not None or (query.device.type == "cpu" and drop > 0) or short:
            return self._eager(query, key, content, bias, sight, drop)
        if bias is None and sight.mask.causal and query.shape[2] == key.shape[2]:
            return F.scaled_dot_product_attention(query, key, content, is_causal=True, dropout_p=drop)
        allowed = sight.mask.dense(query.shape[2], key.shape[2], query.device)
        if bias is not None and allowed is not None:
            bias = bias.masked_fill(~allowed, float("-inf"))
        return F.scaled_dot_product_attention(query, key, content, attn_mask=allowed if bias is None else bias, dropout_p=drop)

    def _eager(self, query: Tensor, key: Tensor, content: Tensor, bias: Tensor | None, sight: Sight, drop: float) -> Tensor:
        scores = torch.matmul(query * (1.0 / math.sqrt(self.head_width)), key.transpose(-1, -2))  # [B, H, Tq, Tk]
        if bias is not None:
            scores = scores + bias
        allowed = sight.mask.dense(query.shape[2], key.shape[2], query.device)
        if allowed is not None:
            # Added, not filled: the backward of an addition is free.
            scores = scores + torch.zeros(allowed.shape, dtype=scores.dtype, device=scores.device).masked_fill_(~allowed, float("-inf"))
        probability = scores.softmax(dim=-1)
        if sight.recorded is not None:
            sight.recorded.append(probability)
        return torch.matmul(dropout(probability, drop, training=self.training), content)

    def flops(self, *, rows: int, queries: int, keys: int) -> int:
        """Of the matrix products of one forward pass, two a multiply-add."""
        inner = self.heads * self.head_width
        projections = self.query.in_features * inner * (2 * keys + 2 * queries)
        return 2 * rows * (projections + 2 * queries * keys * inner)

    @torch.no_grad()
    def prune(self, heads: list[int]) -> None:
        """Take these heads out for good (Michel et al., arXiv:1905.10650)."""
        kept = [head for head in range(self.heads) if head not in set(heads)]
        if not kept:
            raise PlumeError("At least one head of a block must stay.")
        columns = torch.cat([torch.arange(head * self.head_width, (head + 1) * self.head_width) for head in kept])
        for linear in (self.query, self.key, self.value):
            linear.weight = nn.Parameter(linear.weight[columns])
            if linear.bias is not None:
                linear.bias = nn.Parameter(linear.bias[columns])
            linear.out_features = len(columns)
        self.output.weight = nn.Parameter(self.output.weight[:, columns])
        self.output.in_features = len(columns)
        self.heads = len(kept)
