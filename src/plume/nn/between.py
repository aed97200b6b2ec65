"""A module between two blocks of a Transformer: a memory of entities or facts, an adapter, whatever reads the states and hands them on.

It sees what the batch carries beside its tokens (`Batch.named`), and may leave something for the heads (`Encoded.named`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

from plume.core.part import Part

if TYPE_CHECKING:
    from plume.nn.attention import Sight


class BetweenModule(nn.Module):
    """What a `Between` builds."""

    def forward(self, value: Tensor, sight: Sight) -> Tensor:
        """[B, T, D] the states so far; returns those that the next block reads. `sight.named` holds the batch's named arrays; what is put
        into `sight.left` reaches the heads."""
        raise NotImplementedError

    def flops(self, *, rows: int, time: int) -> int:
        """Of the matrix products of one forward pass, two a multiply-add."""
        return 0


@dataclass(frozen=True, kw_only=True)
class Between(Part):
    """Where a module stands: `after` so many blocks; after none it reads what the embedding made."""

    after: int

    def build(self, width: int) -> BetweenModule:
        """The module, for states of that width."""
        raise NotImplementedError
