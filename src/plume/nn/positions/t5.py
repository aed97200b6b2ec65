"""A learned bias for each bucket of distances, added to the scores of all blocks (T5, arXiv:1910.10683 §2.1; MPNet)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.nn.positions.learned import LearnedPositions
from plume.nn.positions.scheme import PositionModule, PositionScheme

if TYPE_CHECKING:
    from plume.nn.attention import Sight


def bucket_of(distance: Tensor, *, buckets: int, reach: int, causal: bool) -> Tensor:
    """The bucket of key position − query position: half of them exact, the others ever wider up to `reach`.

    >>> bucket_of(torch.tensor([-200, -9, -1, 0, 1, 9]), buckets=32, reach=128, causal=False).tolist()
    [15, 8, 1, 0, 17, 24]
    """
    side = buckets if causal else buckets // 2
    exact = side // 2
    away = (-distance).clamp(min=0) if causal else distance.abs()
    # In float32, as every implementation does: the logarithm decides on which side of an edge a distance falls.
    wide = exact + (torch.log(away.clamp(min=1).float() / exact) / math.log(reach / exact) * (side - exact)).long()
    found = torch.where(away < exact, away, wide.clamp(max=side - 1))
    return found if causal else found + side * (distance > 0)


class BucketPositions(PositionModule):
    """A learned bias for each bucket of distances and each head."""

    def __init__(self, *, buckets: int, reach: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.reach = reach
        self.kept: dict[int, list[int]] = {}  # by block, where heads were taken out; the table is all blocks', and stays whole
        self.table = nn.Embedding(buckets, heads)
        # Beyond the reach nothing changes, so a lookup holds every distance there is. Not a buffer: it follows from the declaration.
        self.lookup = bucket_of(torch.arange(-reach, reach + 1), buckets=buckets, reach=reach, causal=causal)

    def prepare(self, sight: Sight) -> None:
        distance = sight.key_position[:, None, :] - sight.query_position[:, :, None]  # [B or 1, Tq, Tk]
        bucket = self.lookup.to(distance.device)[distance.clamp(-self.reach, self.reach) + self.reach]
        sight.shared["bias"] = self.table(bucket).permute(0, 3, 1, 2).contiguous()  # [B or 1, H, Tq, Tk]

    def at_scores(self, query: Tensor, *, sight: Sight, layer: int) -> Tensor:
        if "bias" not in sight.shared:
            self.prepare(sight)
        bias: Tensor = sight.shared["bias"]
        if layer in self.kept:
            bias = bias[:, self.kept[layer]]
        return bias.to(query.dtype)

    def prune(self, layer: int, heads: Sequence[int]) -> None:
        before = self.kept.get(layer, range(self.table.embedding_dim))
        self.kept[layer] = [head for place, head in enumerate(before) if place not in set(heads)]


@dataclass(frozen=True, kw_only=True)
class Buckets(PositionScheme):
    """T5's: 32 numbers a head tell distances up to 128 apart. Scores are not scaled there, so neither is the bias."""

    per_head: ClassVar[bool] = True
    longest: int | None = None
    buckets: int = 32
    distance: int = 128

    def __post_init__(self) -> None:
        if self.buckets < 4 or self.buckets % 2 or self.distance <= self.buckets // 2:
            raise PlumeError(
                f"{self.buckets} buckets up to distance {self.distance} cannot be: "
                "give an even number of at least 4 buckets, and a distance of more than half of it."
            )

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        return BucketPositions(buckets=self.buckets, reach=self.distance, heads=heads, causal=causal)


class LearnedAndBucketPositions(BucketPositions):
    """Both: a vector for each position, and a bias for each bucket of distances."""

    def __init__(self, *, rows: int, width: int, offset: int, buckets: int, reach: int, heads: int, causal: bool) -> None:
        super().__init__(buckets=buckets, reach=reach, heads=heads, causal=causal)
        self.absolute = LearnedPositions(rows=rows, width=width, offset=offset)

    def at_input(self, position: Tensor, within: Tensor | None) -> Tensor:
        return self.absolute.at_input(position, within)


@dataclass(frozen=True, kw_only=True)
class LearnedAndBuckets(Buckets):
    """MPNet's (arXiv:2004.09297 §3.1): a vector a position at the input and T5's bias at the scores."""

    longest: int = 512
    offset: int = 0

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        return LearnedAndBucketPositions(
            rows=self.longest + self.offset,
            width=width,
            offset=self.offset,
            buckets=self.buckets,
            reach=self.distance,
            heads=heads,
            causal=causal,
        )
