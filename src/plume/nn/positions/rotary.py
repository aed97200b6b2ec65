"""Rotary positions: queries and keys are turned by an angle that grows with position (RoFormer, arXiv:2104.09864)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from plume.nn.positions.scheme import PositionModule, PositionScheme

if TYPE_CHECKING:
    from plume.nn.attention import Sight


def _turn(value: Tensor, position: Tensor, frequency: Tensor) -> Tensor:
    """value [B, H, T, W]; column pairs (2i, 2i+1) are one plane each, as in the paper's equation 34."""
    angle = position[..., None].to(frequency.dtype) * frequency  # [B or 1, T, W/2]
    sine, cosine = angle.sin().to(value.dtype)[:, None], angle.cos().to(value.dtype)[:, None]
    even, odd = value[..., 0::2], value[..., 1::2]
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1).flatten(-2)


class RotaryPositions(PositionModule):
    def __init__(self, *, head_width: int, base: float) -> None:
        super().__init__()
        self.frequency = base ** (-torch.arange(0, head_width, 2, dtype=torch.float64) / head_width)

    def at_query_key(self, query: Tensor, key: Tensor, *, sight: Sight, layer: int) -> tuple[Tensor, Tensor]:
        frequency = self.frequency.to(query.device)
        return _turn(query, sight.query_position, frequency), _turn(key, sight.key_position[:, -key.shape[2] :], frequency)


@dataclass(frozen=True, kw_only=True)
class Rotary(PositionScheme):
    """Rotary positions (RoFormer, arXiv:2104.09864): queries and keys are turned by their position, scores see only distances."""

    longest: int | None = None
    base: float = 10000.0

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        return RotaryPositions(head_width=head_width, base=self.base)
