"""Runtime and Runner: states or logits of a batch of texts, whoever computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from plume.core.batch import Batch


class Runtime(Protocol):
    """Of a language model. Thread-safe: batches run side by side."""

    def layers(self, batch: Batch, *, last_only: bool) -> Sequence[Tensor]:
        """[B, T, D] each: the last layer alone, or all from the embedding on."""


class Runner(Protocol):
    """Of the graphs of any model. Thread-safe too."""

    def __call__(self, batch: Batch) -> Tensor:
        """The graph's first output: states of a language model, logits of a tuned one."""
