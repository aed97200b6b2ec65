"""What a head is built from and what it returns."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.core.part import Part


@dataclass(frozen=True, kw_only=True)
class Dims:
    """What a head may need to know of the network below it."""

    width: int
    token: nn.Embedding  # for tied output weights
    pooler: nn.Module | None = None


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Sums, not means: the training loop divides by the count over all processes and accumulated batches."""

    total: Tensor
    count: Tensor | int
    correct: Tensor | None = None
    positive: Tensor | None = None  # answers of class 1, where there are two: their share is what guessing knows


class HeadModule(nn.Module):
    def loss(self, encoded: Encoded, target: Target) -> Loss:
        raise NotImplementedError

    def flops(self, predictions: int) -> int:
        """Of the matrix products of one forward pass."""
        dense = [part.in_features * part.out_features for part in self.modules() if isinstance(part, nn.Linear)]
        return 2 * predictions * sum(dense)

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., D] to [..., classes]."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Head(Part):
    def build(self, dims: Dims) -> HeadModule:
        raise NotImplementedError


def at(encoded: Encoded, target: Target) -> Tensor:
    """[N, D] the hidden states that the target asks about."""
    rows = encoded.last.reshape(-1, encoded.last.shape[-1])
    return rows if target.whole else rows.index_select(0, target.index if target.slot is None else target.slot)
