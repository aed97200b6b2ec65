"""Fixed sine and cosine positions, added at the input (arXiv:1706.03762 §3.5)."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from plume.nn.positions.scheme import PositionModule, PositionScheme


class SineColumns(enum.StrEnum):
    """How sines and cosines stand: in turn, as the paper writes them, or in two halves, as its code and most others do."""

    IN_TURN = "in_turn"
    HALVES = "halves"


class SinusoidalPositions(PositionModule):
    """Sines and cosines of the position, not learned."""

    def __init__(self, *, width: int, columns: SineColumns) -> None:
        super().__init__()
        self.columns = columns
        # Not a buffer: it follows from the width, so it does not belong in a checkpoint.
        self.frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))

    def at_input(self, position: Tensor, within: Tensor | None) -> Tensor:
        angle = position[..., None].double() * self.frequency.to(position.device)
        sines = [angle.sin(), angle.cos()]  # the embedding casts them to its own type
        return torch.cat(sines, dim=-1) if self.columns is SineColumns.HALVES else torch.stack(sines, dim=-1).flatten(-2)


@dataclass(frozen=True, kw_only=True)
class Sinusoidal(PositionScheme):
    """Sine and cosine, wavelengths from 2π to 10000·2π."""

    longest: int | None = None
    columns: SineColumns = SineColumns.IN_TURN

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        return SinusoidalPositions(width=width, columns=self.columns)
