"""Weights in 8 bits: an int8 matrix, and beside it a scale for each of its rows, which is a token's vector or an output channel."""

from __future__ import annotations

from collections.abc import Container

import torch
from torch import Tensor

SCALE = ".scale"  # behind a matrix' name
_SHORTEST = 16  # numbers of a row: of shorter ones the scales would be a large part
_LARGEST = 127


def in_eight_bits(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same weights, matrices as int8 with their scales; norms, biases and small tables as they are."""
    found: dict[str, Tensor] = {}
    for name, value in state.items():
        if value.dim() < 2 or not value.is_floating_point() or value[0].numel() < _SHORTEST:
            found[name] = value
        else:
            found[name], found[name + SCALE] = _rounded(value.float())
    return found


def in_full(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """What `in_eight_bits` made, as float32 again; weights that never were in 8 bits stay as they are."""
    scales = {name + SCALE for name, value in state.items() if value.dtype is torch.int8 and name + SCALE in state}
    return {
        name: value.float() * _beside(state[name + SCALE], value) if name + SCALE in scales else value
        for name, value in state.items()
        if name not in scales
    }


def is_scale(name: str, names: Container[str]) -> bool:
    """Is it no weight, but the scale of one that lies in 8 bits?"""
    return name.endswith(SCALE) and name.removesuffix(SCALE) in names


def _rounded(value: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric: zero stays zero, and the largest of a row is exact."""
    scale = value.flatten(1).abs().amax(1) / _LARGEST
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    return (value / _beside(scale, value)).round().clamp(-_LARGEST, _LARGEST).to(torch.int8), scale


def _beside(scale: Tensor, value: Tensor) -> Tensor:
    return scale.view(-1, *[1] * (value.dim() - 1))
