"""Memory: hidden states of the text just read, which the next batch may look back at (Transformer-XL, arXiv:1901.02860 §3.2; XLNet)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.core.part import Part

States = list[Tensor]  # a block's input each, [B, M, D]


@dataclass(frozen=True, kw_only=True)
class Memory(Part):
    """Keep the last `length` positions. Of each row only the first `reuse` share goes into memory (XLNet's rows overlap by the rest)."""

    length: int = 384
    reuse: float = 1.0

    def __post_init__(self) -> None:
        if self.length < 1 or not 0 < self.reuse <= 1:
            raise PlumeError(f"A memory of {self.length} positions with {self.reuse} of each row: both lie above 0, the second up to 1.")

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if any(kind.noise.order is Order.REVERSED for kind in recipe.kinds):
            yield "a memory holds the text before, which a network that reads from right to left must not see."
        if any(self.reuse != getattr(kind.layout, "reuse", 1.0) for kind in recipe.kinds):
            yield "the memory must keep the share of a row that the next row follows on; set memory.reuse as layout.reuse."
        if not all(kind.layout.sequential for kind in recipe.kinds):
            yield "memory needs rows that go on from batch to batch; set layout=Streams()."

    @torch.no_grad()
    def after(self, before: States | None, layers: Sequence[Tensor]) -> States:
        """The memory once a row has been read: the inputs of its blocks, behind what was kept."""
        kept = []
        for number, layer in enumerate(layers):
            new = layer[:, : max(1, int(self.reuse * layer.shape[1]))].detach()  # never more than the layout reuses: it would leak
            joined = new if before is None else torch.cat([before[number], new], dim=1)
            kept.append(joined[:, -self.length :].clone())
        return kept
