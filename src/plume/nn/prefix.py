"""A prefix: keys and values that are learned, in front of those of the tokens in every block (arXiv:2101.00190 §4, arXiv:2110.07602 §3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part

if TYPE_CHECKING:
    from plume.nn.stack import Stack


@dataclass(frozen=True)
class PrefixKeys:
    """What stands in front: [H, P, W] keys and values of each block."""

    blocks: Sequence[tuple[Tensor, Tensor]]

    @property
    def length(self) -> int:
        """How many keys a block has of it."""
        return self.blocks[0][0].shape[1]

    def in_front(self, layer: int, key: Tensor, value: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """[B, H, T, W] keys and values behind their prefix; a prefix stands nowhere, so positions add nothing to its scores."""
        own_key, own_value = (one.to(key.dtype).expand(key.shape[0], -1, -1, -1) for one in self.blocks[layer])
        wider = None if bias is None else F.pad(bias, (self.length, 0))
        return torch.cat([own_key, key], dim=2), torch.cat([own_value, value], dim=2), wider


@dataclass(frozen=True, kw_only=True)
class Prefix(Part):
    """`length` keys a block. `hidden`: the width of a network that computes them all from a vector a place, without which prefix tuning's authors saw
    it learn badly (§4.3); 0: they are learned themselves, as in P-tuning v2."""

    length: int = 20
    hidden: int = 0

    def __post_init__(self) -> None:
        if self.length < 1 or self.hidden < 0:
            raise PlumeError(f"A prefix has a length of at least 1 and a hidden width of 0 or more, not {self.length} and {self.hidden}.")

    def build(self, stack: Stack) -> PrefixModule:
        """For these blocks."""
        return PrefixModule(self, stack)


class PrefixModule(nn.Module):
    """What a `Prefix` builds. A row of the table holds a place's keys and values: by block, key before value, by head."""

    def __init__(self, part: Prefix, stack: Stack) -> None:
        super().__init__()
        self.part = part
        attentions = [stack.block(layer).attention for layer in range(stack.part.depth)]
        self.heads, self.head_width = [one.heads for one in attentions], stack.part.head_width
        wide, width = 2 * sum(self.heads) * self.head_width, stack.part.width
        self.table = nn.Parameter(torch.randn(part.length, width if part.hidden else wide))
        self.network = nn.Sequential(nn.Linear(width, part.hidden), nn.Tanh(), nn.Linear(part.hidden, wide)) if part.hidden else None

    def forward(self) -> PrefixKeys:
        """All blocks'."""
        made = self.table if self.network is None else self.network(self.table)
        split = made.view(self.part.length, -1, self.head_width).transpose(0, 1)  # [2·ΣH, P, W]
        halves = iter(split.split([heads for heads in self.heads for _ in range(2)]))
        return PrefixKeys([(key, next(halves)) for key in halves])

    def flops(self, *, rows: int, time: int) -> int:
        """Of the matrix products of one forward pass, two a multiply-add: its own, and what attention has to do with it."""
        made = 0 if self.network is None else sum(one.numel() for one in self.network.parameters() if one.ndim > 1)
        return 2 * self.part.length * (made + 2 * rows * time * sum(self.heads) * self.head_width)
