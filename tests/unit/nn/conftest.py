"""A small stack in float64 and something to run through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded
from plume.nn.attention import Sight
from plume.nn.block import Norm
from plume.nn.positions.scheme import PositionModule
from plume.nn.stack import Sharing, Stack, Transformer
from plume.nn.visibility import mask_of

WIDTH, DEPTH, HEADS = 16, 3, 4


@pytest.fixture(scope="session")
def stack_of() -> Callable[..., Stack]:
    def make(*, sharing: Sharing = Sharing.NONE, norm: Norm = Norm.POST, seed: int = 1, **changes: Any) -> Stack:
        part = Transformer(**{
            "width": WIDTH, "depth": DEPTH, "heads": HEADS, "feed_forward": 24, "norm": norm, "dropout": 0.0, "attention_dropout": 0.0,
        } | changes)  # fmt: skip
        stack = part.build(embedding_width=WIDTH, sharing=sharing).double()
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in stack.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.4)
        return stack

    return make


@pytest.fixture(scope="session")
def values() -> Callable[..., Tensor]:
    """[B, T, D] the same random numbers for the same shape."""
    return lambda rows, time, *, seed=2: torch.randn(rows, time, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(scope="session")
def run() -> Callable[..., Encoded]:
    """Through a stack, seeing what the batch says; `changes` go to the sight."""

    def forward(
        stack: Stack, value: Tensor, batch: Batch, *, positions: PositionModule | None = None, keep_layers: bool = False, **changes: Any
    ) -> Encoded:
        position = torch.arange(value.shape[1])[None]
        sight = Sight(
            mask=mask_of(batch), positions=positions or PositionModule(), query_position=position, key_position=position, **changes
        )
        return stack(value, sight=sight, read=batch.read, keep_layers=keep_layers)

    return forward
