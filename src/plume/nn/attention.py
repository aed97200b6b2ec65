"""Scaled dot-product attention with many heads (arXiv:1706.03762 §3.2), one for every family.

The families differ in the mask and in where position enters, and both come from outside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.nn.dropout import dropout
from plume.nn.fewer import columns_of, keep_inputs, keep_outputs
from plume.nn.positions.scheme import PositionModule
from plume.nn.prefix import PrefixKeys
from plume.nn.visibility import AttentionMask

# Below this length the plain products beat the fused kernel on a CPU (measured, forward and backward together).
_SHORT = 256


@dataclass(frozen=True, kw_only=True)
class Attended:
    """One attention as it was computed: probability = softmax(query · key · scale + bias) over what is allowed."""

    layer: int
    query: Tensor  # [B, H, Tq, W] with what the position scheme does to it
    key: Tensor  # [B, H, Tk, W]
    value: Tensor  # [B, H, Tk, W]
    scale: float
    bias: Tensor | None  # [B or 1, H, Tq, Tk] what the position scheme adds to the scores
    allowed: Tensor | None  # bool, broadcast to the scores; None: everything
    probability: Tensor  # [B, H, Tq, Tk]


@dataclass(kw_only=True)
class Sight:
    """What one pass through the stack needs besides the values: who sees whom, and where everything stands."""

    mask: AttentionMask
    positions: PositionModule
    query_position: Tensor  # [B or 1, Tq]
    key_position: Tensor  # [B or 1, Tk], cached and remembered keys included
    query_segment: Tensor | None = None  # [B, Tq], for schemes that compare segments (XLNet)
    key_segment: Tensor | None = None  # [B, Tk]
    before: int | None = None  # keys stand at consecutive positions, so many of them before all queries; None: positions are anywhere
    in_order: bool = False  # … and the first queries are those other keys, in their order
    length: Tensor | None = None  # [B] tokens before the padding; None: no row is padded
    across: Sight | None = None  # a decoder's second look, at `source`
    source: Tensor | None = None  # [B, S, D] what the encoder made
    head_mask: Tensor | Sequence[Tensor] | None = None  # a layer's factors, [H], or [B, H]: others in each row
    inner_mask: Tensor | Sequence[Tensor] | None = None  # and of the neurons of its feed-forward network, [I], or [B, I]
    recorded: list[Tensor] | None = None  # attention probabilities are appended here when they are wanted
    looks: list[Attended] | None = None  # … and here, with all they are made of
    named: Mapping[str, Tensor] = field(default_factory=dict)  # what the batch carries beside its tokens, for modules between blocks
    left: dict[str, Tensor] = field(default_factory=dict)  # and what these leave for the heads
    shared: dict[str, Any] = field(default_factory=dict)  # what a position scheme computes once for all blocks
    prefix: PrefixKeys | None = None  # stands in front of all other keys

    def behind(self, prefix: PrefixKeys, *, rows: int) -> Sight:
        """The same with a prefix, which everyone sees."""
        allowed = self.mask.allowed
        mask = self.mask.after(prefix.length, rows, 0 if allowed is None else allowed.shape[-1])
        return replace(self, mask=mask, prefix=prefix)


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

    def held(self) -> tuple[Tensor, Tensor]:
        """All keys and values so far."""
        assert self._key is not None and self._value is not None, "nothing was cached"
        return self._key[:, :, : self.length], self._value[:, :, : self.length]

    def reorder(self, rows: Tensor) -> None:
        """Keep these rows, in this order: a beam search moves its histories."""
        if self._key is not None and self._value is not None:
            self._key, self._value = self._key[rows], self._value[rows]

    def end_together(self, length: Tensor) -> None:
        """Rows of unlike length [B], padded behind, are moved so that their last keys stand in one column. What stands before is anything."""
        key, value = self.held()
        place = torch.arange(self.length, device=key.device) - (self.length - length)[:, None]
        index = place.clamp(min=0)[:, None, :, None].expand_as(key)
        self._key, self._value = key.gather(2, index), value.gather(2, index)

    def join(self, other: LayerCache) -> None:
        """The other's rows behind our own; all end together."""
        width = max(self.length, other.length)
        (key, value), (more_keys, more_values) = (one.shifted(width) for one in (self, other))
        self._key, self._value = torch.cat([key, more_keys]), torch.cat([value, more_values])
        self.length = width

    def shifted(self, width: int) -> tuple[Tensor, Tensor]:
        """All keys and values so far, behind zeros."""
        key, value = self.held()
        return F.pad(key, (0, 0, width - self.length, 0)), F.pad(value, (0, 0, width - self.length, 0))

    def forget(self, count: int) -> None:
        """Take back the newest keys."""
        self.length -= count

    def keep_last(self, length: int) -> None:
        """Forget all but the last `length` keys: a memory of bounded length."""
        if self.length > length:
            key, value = self.held()
            self._key, self._value, self.length = key[:, :, -length:].clone(), value[:, :, -length:].clone(), length


class Attention(nn.Module):
    """Multi-head attention: projections to queries, keys and values, and one back."""

    def __init__(
        self, *, width: int, heads: int, head_width: int, drop: float, attention_drop: float, bias: bool = True, scaled: bool = True
    ) -> None:
        super().__init__()
        self.scale = 1.0 / math.sqrt(head_width) if scaled else 1.0
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
        turned, key = sight.positions.at_query_key(query, key, sight=sight, layer=layer)
        if cache is not None:
            key, content = cache.extend(key, content)
        bias = sight.positions.at_scores(query, sight=sight, layer=layer)
        if sight.prefix is not None:
            key, content, bias = sight.prefix.in_front(layer, key, content, bias)
        return self._finish(self._mix(turned, key, content, bias, sight, layer), asking, sight, layer)

    def look_across(self, asking: Tensor, *, sight: Sight, layer: int, cache: LayerCache | None = None) -> Tensor:
        """A decoder's look at its source, whose keys and values are made once and then cached."""
        assert sight.source is not None, "only a batch with a source looks across"
        if cache is not None and cache.length:
            key, content = cache.held()
        else:
            key, content = self.looked_at(sight.source)
            if cache is not None:
                key, content = cache.extend(key, content)
        query = self._split(self.query(asking))
        return self._finish(self._mix(query, key, content, None, sight, layer), asking, sight, layer)

    def looked_at(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """[B, H, S, W] keys and values of what a decoder looks across at."""
        return self._split(self.key(source)), self._split(self.value(source))

    def _finish(self, mixed: Tensor, asking: Tensor, sight: Sight, layer: int) -> Tensor:
        if sight.head_mask is not None:
            mixed = mixed * sight.head_mask[layer][..., None, None]  # the same as scaling the head's probabilities
        merged = mixed.transpose(1, 2).reshape(*asking.shape[:2], self.heads * self.head_width)
        return dropout(self.output(merged), self.drop, training=self.training)

    def _split(self, value: Tensor) -> Tensor:
        return value.view(*value.shape[:2], self.heads, self.head_width).transpose(1, 2)

    def _mix(self, query: Tensor, key: Tensor, content: Tensor, bias: Tensor | None, sight: Sight, layer: int) -> Tensor:
        drop = self.attention_drop if self.training else 0.0
        # Plain products where probabilities are wanted or dropped (no CPU kernel drops), and where they are simply faster.
        short = query.device.type == "cpu" and torch.is_grad_enabled() and key.shape[2] <= _SHORT
        plain = sight.recorded is not None or sight.looks is not None or sight.positions.changes_values
        if plain or (query.device.type == "cpu" and drop > 0) or short:
            return self._eager(query, key, content, bias, sight, layer, drop)
        if bias is None and sight.mask.causal and query.shape[2] == key.shape[2]:
            return F.scaled_dot_product_attention(query, key, content, is_causal=True, dropout_p=drop, scale=self.scale)
        allowed = sight.mask.dense(query.shape[2], key.shape[2], query.device)
        if bias is not None and allowed is not None:
            bias = bias.masked_fill(~allowed, float("-inf"))
        mask = allowed if bias is None else bias
        return F.scaled_dot_product_attention(query, key, content, attn_mask=mask, dropout_p=drop, scale=self.scale)

    def _eager(self, query: Tensor, key: Tensor, content: Tensor, bias: Tensor | None, sight: Sight, layer: int, drop: float) -> Tensor:
        scores = torch.matmul(query * self.scale, key.transpose(-1, -2))  # [B, H, Tq, Tk]
        if bias is not None:
            scores = scores + bias
        allowed = sight.mask.dense(query.shape[2], key.shape[2], query.device)
        if allowed is not None:
            # Added, not filled: the backward of an addition is free.
            scores = scores + torch.zeros(allowed.shape, dtype=scores.dtype, device=scores.device).masked_fill_(~allowed, float("-inf"))
        probability = scores.softmax(dim=-1)
        front = 0 if sight.prefix is None else sight.prefix.length  # whoever looks inside sees tokens; what they lack goes to the prefix
        if sight.recorded is not None:
            sight.recorded.append(probability[..., front:])
        if sight.looks is not None:
            sight.looks.append(
                Attended(
                    layer=layer,
                    query=query,
                    key=key[:, :, front:],
                    value=content[:, :, front:],
                    scale=self.scale,
                    bias=None if bias is None else bias[..., front:],
                    allowed=None if allowed is None else allowed[..., front:],
                    probability=probability[..., front:],
                )
            )
        probability = dropout(probability, drop, training=self.training)
        mixed = torch.matmul(probability, content)
        added = sight.positions.at_values(probability[..., front:], sight=sight, layer=layer)
        return mixed if added is None else mixed + added

    def flops(self, *, rows: int, queries: int, keys: int) -> int:
        """Of the matrix products of one forward pass, two a multiply-add."""
        inner = self.heads * self.head_width
        projections = self.query.in_features * inner * (2 * keys + 2 * queries)
        return 2 * rows * (projections + 2 * queries * keys * inner)

    @torch.no_grad()
    def prune(self, heads: Sequence[int]) -> None:
        """Take these heads out for good (Michel et al., arXiv:1905.10650)."""
        kept = [head for head in range(self.heads) if head not in set(heads)]
        if not kept:
            raise PlumeError("At least one head of a block must stay.")
        columns = columns_of(kept, self.head_width)
        for linear in (self.query, self.key, self.value):
            keep_outputs(linear, columns)
        keep_inputs(self.output, columns)
        self.heads = len(kept)
