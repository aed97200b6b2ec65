"""A linear layer with fewer outputs or inputs: what pruning comes down to."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


@torch.no_grad()
def keep_outputs(linear: nn.Linear, kept: Sequence[int]) -> None:
    """Only these, in this order."""
    index = torch.as_tensor(kept, device=linear.weight.device)
    linear.weight = nn.Parameter(linear.weight[index], requires_grad=linear.weight.requires_grad)
    if linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias[index], requires_grad=linear.bias.requires_grad)
    linear.out_features = len(kept)


@torch.no_grad()
def keep_inputs(linear: nn.Linear, kept: Sequence[int]) -> None:
    """Only these, in this order."""
    index = torch.as_tensor(kept, device=linear.weight.device)
    linear.weight = nn.Parameter(linear.weight[:, index], requires_grad=linear.weight.requires_grad)
    linear.in_features = len(kept)


def columns_of(heads: Sequence[int], head_width: int) -> list[int]:
    """Where heads lie in a projection.

    >>> columns_of([0, 2], 3)
    [0, 1, 2, 6, 7, 8]
    """
    return [head * head_width + column for head in heads for column in range(head_width)]
