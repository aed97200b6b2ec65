"""Relative positions of Transformer-XL (arXiv:1901.02860 §3.3) and XLNet (arXiv:1906.08237 §2.4–2.5).

The score of query i and key j is ((q + u)·k + (q + v)·R(i - j)) / sqrt(W), R a projected sinusoid of the distance; XLNet adds
(q + s)·e, where e tells only whether both are of the same segment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.nn.dropout import Dropout
from plume.nn.fewer import columns_of, keep_outputs
from plume.nn.positions.distances import Distances, columns, distances
from plume.nn.positions.scheme import PositionModule, PositionScheme

if TYPE_CHECKING:
    from plume.nn.attention import Sight


class RelativeBlock(nn.Module):
    """One block's share: the projection of R, and with `segments` s and e."""

    def __init__(self, *, width: int, heads: int, head_width: int, segments: bool) -> None:
        super().__init__()
        self.heads, self.head_width = heads, head_width
        self.project = nn.Linear(width, heads * head_width, bias=False)
        self.segment_bias = nn.Parameter(torch.empty(heads, head_width)) if segments else None  # s
        self.segment = nn.Parameter(torch.empty(2, heads, head_width)) if segments else None  # e: the same, different

    def keep(self, heads: Sequence[int]) -> None:
        """Only these."""
        keep_outputs(self.project, columns_of(heads, self.head_width))
        if self.segment_bias is not None and self.segment is not None:
            self.segment_bias = nn.Parameter(self.segment_bias[heads])
            self.segment = nn.Parameter(self.segment[:, heads])
        self.heads = len(heads)


class RelativePositions(PositionModule):
    """Sinusoids of distances, projected in every layer, with two learned biases."""

    def __init__(self, part: Relative, *, width: int, heads: int, head_width: int, depth: int, causal: bool) -> None:
        super().__init__()
        self.causal, self.clamp, self.width = causal, part.clamp, width
        self.heads, self.head_width = heads, head_width
        self.scale = 1.0 / math.sqrt(head_width)
        self.kept: dict[int, list[int]] = {}  # by block, where heads were taken out and u and v are all blocks'
        biases = depth if part.untied else 1
        self.content_bias = nn.ParameterList([nn.Parameter(torch.empty(heads, head_width)) for _ in range(biases)])  # u
        self.position_bias = nn.ParameterList([nn.Parameter(torch.empty(heads, head_width)) for _ in range(biases)])  # v
        blocks = [RelativeBlock(width=width, heads=heads, head_width=head_width, segments=part.segments) for _ in range(depth)]
        self.blocks = nn.ModuleList(blocks)
        self.dropout = Dropout(part.dropout)
        # Not a buffer: it follows from the width.
        self.frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
        self.initialise(0.02)

    def _block(self, layer: int) -> RelativeBlock:
        block = self.blocks[layer]
        assert isinstance(block, RelativeBlock)
        return block

    def prepare(self, sight: Sight) -> None:
        found = distances(sight, causal=self.causal)
        away = -found.span if self.clamp is None else -found.span.clamp(-self.clamp, self.clamp)
        angle = away[:, None].double() * self.frequency.to(away.device)
        weight = self._block(0).project.weight
        sinusoid = torch.cat([angle.sin(), angle.cos()], dim=-1).to(weight.dtype)
        sight.shared["distances"], sight.shared["sinusoid"] = found, self.dropout(sinusoid)
        if self._block(0).segment is not None and sight.query_segment is not None and sight.key_segment is not None:
            differs = sight.query_segment[:, :, None] != sight.key_segment[:, None, :]
            sight.shared["differs"] = differs[:, None].to(weight.dtype)  # [B, 1, Tq, Tk]

    def at_query_key(self, query: Tensor, key: Tensor, *, sight: Sight, layer: int) -> tuple[Tensor, Tensor]:
        return query + self._bias(self.content_bias, layer), key

    def at_scores(self, query: Tensor, *, sight: Sight, layer: int) -> Tensor:
        if "distances" not in sight.shared:
            self.prepare(sight)
        found: Distances = sight.shared["distances"]
        block = self._block(layer)
        table = block.project(sight.shared["sinusoid"]).view(-1, block.heads, self.head_width).permute(1, 2, 0)  # [H, W, L]
        bias = self._bias(self.position_bias, layer)
        scores = found.scores(torch.add(bias * self.scale, query, alpha=self.scale), table)
        differs = sight.shared.get("differs")
        if differs is None or block.segment is None or block.segment_bias is None:
            return scores
        # (q + s)·e[same] would be the same for all keys of a query, which a softmax does not feel: only the difference counts.
        step = (block.segment[1] - block.segment[0])[:, None] * self.scale
        asked = ((query + block.segment_bias[:, None]) * step).sum(-1, keepdim=True)
        return torch.addcmul(scores, asked, differs)

    def _bias(self, biases: nn.ParameterList, layer: int) -> Tensor:
        """u or v of a block, [H, 1, W]."""
        found: Tensor = biases[layer % len(biases)]
        return (found[self.kept[layer]] if layer in self.kept else found)[:, None]

    @torch.no_grad()
    def prune(self, layer: int, heads: Sequence[int]) -> None:
        block = self._block(layer)
        kept = [head for head in range(block.heads) if head not in set(heads)]
        block.keep(kept)
        if len(self.content_bias) > 1:
            for biases in (self.content_bias, self.position_bias):
                biases[layer] = nn.Parameter(biases[layer][kept])
        else:
            before = self.kept.get(layer, range(self.heads))
            self.kept[layer] = [before[head] for head in kept]

    def flops(self, *, rows: int, queries: int, keys: int, before: int = 0) -> int:
        count = columns(keys=keys, before=before, causal=self.causal)
        return 2 * rows * queries * count * self.heads * self.head_width + self.fixed_flops(
            rows=rows, queries=queries, keys=keys, before=before
        )

    def fixed_flops(self, *, rows: int, queries: int, keys: int, before: int = 0) -> int:
        count = columns(keys=keys, before=before, causal=self.causal)
        return 2 * count * self.width * self.heads * self.head_width  # the sinusoid learns nothing

    @torch.no_grad()
    def initialise(self, spread: float) -> None:
        for name, parameter in self.named_parameters():
            if not name.endswith("project.weight"):
                nn.init.normal_(parameter, std=spread)


@dataclass(frozen=True, kw_only=True)
class Relative(PositionScheme):
    """Transformer-XL has one u and one v for all blocks; XLNet's are `untied`, and compare `segments`."""

    per_head: ClassVar[bool] = True
    mirrors: ClassVar[bool] = True
    longest: int | None = None
    untied: bool = False
    segments: bool = False
    clamp: int | None = None  # distances beyond it count as it
    dropout: float = 0.1  # of the sinusoids, in both papers' code

    def __post_init__(self) -> None:
        if self.clamp is not None and self.clamp < 1:
            raise PlumeError(f"Distances cannot be cut off at {self.clamp}: give at least 1, or None to keep them all.")

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        return RelativePositions(self, width=width, heads=heads, head_width=head_width, depth=depth, causal=causal)
