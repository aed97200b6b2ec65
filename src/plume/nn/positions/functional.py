"""Functional relative positions: fixed sinusoids of the distance, added to keys and to values (NEZHA, arXiv:1909.00204 §2.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.nn.positions.scheme import PositionModule, PositionScheme

if TYPE_CHECKING:
    from plume.nn.attention import Sight


class FunctionalPositions(PositionModule):
    """The same vectors in all heads and blocks.

    Where all rows have the same positions, each query has its own matrix of vectors [W, Tk] and one product serves all rows and heads. Where
    they have not, queries are multiplied with every vector of the table and the wanted products are picked.
    """

    changes_values: ClassVar[bool] = True

    def __init__(self, *, heads: int, head_width: int, clip: int) -> None:
        super().__init__()
        self.heads, self.head_width, self.clip = heads, head_width, clip
        self.scale = 1.0 / math.sqrt(head_width)
        # The paper takes the sinusoid of j - i; its code, and so its weights, that of the row number j - i + clip.
        frequency = torch.exp(torch.arange(0, head_width, 2, dtype=torch.float64) * (-math.log(10000.0) / head_width))
        angle = torch.arange(2 * clip + 1, dtype=torch.float64)[:, None] * frequency
        self.table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)  # [2 clip + 1, W]; not a buffer: it is not learned

    def prepare(self, sight: Sight) -> None:
        distance = sight.key_position[:, None, :] - sight.query_position[:, :, None]
        sight.shared["row"] = distance.clamp_(-self.clip, self.clip).add_(self.clip)  # [B or 1, Tq, Tk]

    def _vectors(self, sight: Sight, like: Tensor) -> tuple[Tensor, Tensor, bool]:
        """The table, the row for each pair, and whether the rows of the batch agree (then the table is written out: [Tq, Tk, W])."""
        if "row" not in sight.shared:
            self.prepare(sight)
        row: Tensor = sight.shared["row"]
        if "vectors" not in sight.shared:
            table = self.table.to(device=like.device, dtype=like.dtype)
            sight.shared["vectors"] = table[row[0]] if len(row) == 1 else table
        return sight.shared["vectors"], row, len(row) == 1

    def at_scores(self, query: Tensor, *, sight: Sight, layer: int) -> Tensor:
        vectors, row, agree = self._vectors(sight, query)
        rows, heads, queries, width = query.shape
        query = query * self.scale
        if agree:
            asked = query.permute(2, 0, 1, 3).reshape(queries, rows * heads, width)
            return torch.bmm(asked, vectors.transpose(1, 2)).view(queries, rows, heads, -1).permute(1, 2, 0, 3)
        return (query @ vectors.t()).gather(3, row[:, None].expand(rows, heads, -1, -1))

    def at_values(self, probability: Tensor, *, sight: Sight, layer: int) -> Tensor:
        vectors, row, agree = self._vectors(sight, probability)
        rows, heads, queries, keys = probability.shape
        if agree:
            given = probability.permute(2, 0, 1, 3).reshape(queries, rows * heads, keys)
            return torch.bmm(given, vectors).view(queries, rows, heads, -1).permute(1, 2, 0, 3)
        summed = probability.new_zeros(rows, heads, queries, len(vectors))
        return summed.scatter_add(3, row[:, None].expand(rows, heads, -1, -1), probability) @ vectors

    def flops(self, *, rows: int, queries: int, keys: int, before: int = 0) -> int:
        vectors = keys if queries == keys - before else 2 * self.clip + 1  # otherwise only some positions are read, other ones in each row
        return 2 * 2 * rows * queries * vectors * self.heads * self.head_width

    def fixed_flops(self, *, rows: int, queries: int, keys: int, before: int = 0) -> int:
        return self.flops(rows=rows, queries=queries, keys=keys, before=before)


@dataclass(frozen=True, kw_only=True)
class Functional(PositionScheme):
    """Distances beyond `clip` count as it."""

    longest: int | None = None
    clip: int = 64

    def __post_init__(self) -> None:
        if self.clip < 1:
            raise PlumeError(f"Distances cannot be cut off at {self.clip}: give at least 1.")

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        return FunctionalPositions(heads=heads, head_width=head_width, clip=self.clip)
