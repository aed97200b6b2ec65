"""Runtime: states of a batch of texts, whoever computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from plume.core.batch import Batch


class Runtime(Protocol):
    """Thread-safe: batches run side by side."""

    def layers(self, batch: Batch, *, last_only: bool) -> Sequence[Tensor]:
        """[B, T, D] each: the last layer alone, or all from the embedding on."""
