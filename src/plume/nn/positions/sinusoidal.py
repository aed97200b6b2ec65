"""Fixed sine and cosine positions, added at the input (arXiv:1706.03762 §3.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from plume.nn.positions.scheme import PositionModule, PositionScheme


class SinusoidalPositions(PositionModule):
    def __init__(self, *, width: int) -> None:
        super().__init__()
        # Not a buffer: it follows from the width, so it does not belong in a checkpoint.
        self.frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))

    def at_input(self, position: Tensor) -> Tensor:
        angle = position[..., None].double() * self.frequency.to(position.device)
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)  # the embedding casts it to its own type


@dataclass(frozen=True, kw_only=True)
class Sinusoidal(PositionScheme):
    """Even columns sine, odd columns cosine, wavelengths from 2π to 10000·2π."""

    longest: int | None = None

    def build(self, *, width: int, head_width: int) -> PositionModule:
        return SinusoidalPositions(width=width)
