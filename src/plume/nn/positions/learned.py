"""Learned absolute positions, added at the input (BERT, GPT)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from plume.nn.positions.scheme import PositionModule, PositionScheme


class LearnedPositions(PositionModule):
    """A vector for each position."""

    def __init__(self, *, rows: int, width: int, offset: int) -> None:
        super().__init__()
        self.offset = offset
        self.table = nn.Embedding(rows, width)

    def at_input(self, position: Tensor, within: Tensor | None) -> Tensor:
        found: Tensor = self.table(position + self.offset)
        return found


@dataclass(frozen=True, kw_only=True)
class Learned(PositionScheme):
    """One vector a position. RoBERTa's table begins with `offset` = 2 rows that no token uses."""

    longest: int = 512
    offset: int = 0
    local: bool = False  # attention begins at the neighbours (nn/local_start.py); else all starts at random, as published

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        return LearnedPositions(rows=self.longest + self.offset, width=width, offset=self.offset)
