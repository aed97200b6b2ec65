"""A module between two blocks of a Transformer: a memory of entities or facts, an adapter, whatever reads the states and hands them on.

It sees what the batch carries beside its tokens (`Batch.named`), and may leave something for the heads (`Encoded.named`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor, nn

from plume.core.batch import Batch
from plume.core.part import Part

if TYPE_CHECKING:
    from plume.nn.attention import Sight


class BetweenModule(nn.Module):
    """What a `Between` builds. `alone`: only what it leaves for the heads is wanted, and nothing runs behind it."""

    alone: bool = False

    def forward(self, value: Tensor, sight: Sight) -> Tensor:
        """[B, T, D] the states so far; returns those that the next block reads. `sight.named` holds the batch's named arrays; what is put
        into `sight.left` reaches the heads."""
        raise NotImplementedError

    def initialise(self) -> None:
        """First weights, where others than the network's are wanted: called when those are set."""

    def entities(self) -> nn.Embedding | None:
        """Its vectors of entities, which heads share; None: it has none."""
        return None

    def flops(self, *, rows: int, time: int) -> int:
        """Of the matrix products of one forward pass, two a multiply-add."""
        return 0

    def batch_flops(self, batch: Batch) -> int:
        """Of those, besides, whose number depends on what the batch carries."""
        return 0

    def fixed_flops(self, batch: Batch) -> int:
        """Of those of a training step, counted as three times the forward ones, what needs no gradient: products with what learns nothing."""
        return 0


@dataclass(frozen=True, kw_only=True)
class Between(Part):
    """Where a module stands: `after` so many blocks; after none it reads what the embedding made."""

    links: ClassVar[bool] = False  # does it leave scores of entities for the heads?

    after: int

    def shrunk(self, width: int) -> Between:
        """As the small sizes have it, whose states are so wide."""
        return self

    def build(self, width: int) -> BetweenModule:
        """The module, for states of that width."""
        raise NotImplementedError
