"""ELMo's mixture of layers: γ · Σ softmax(w)_j h_j, with γ and w learned by each task (arXiv:1802.05365 §3.2, eq. 1)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError

_EPSILON = 1e-12


class ScalarMix(nn.Module):
    """Begins as the plain mean of the layers.

    >>> ScalarMix(3)([torch.ones(1, 2, 4), torch.zeros(1, 2, 4), torch.full((1, 2, 4), 2.0)]).mean().item()
    1.0
    """

    def __init__(self, layers: int, *, norm: bool = False) -> None:
        super().__init__()
        if layers < 1:
            raise PlumeError(f"A mixture needs at least one layer, not {layers}.")
        self.norm = norm  # each layer brought to mean 0 and variance 1 over the batch first
        self.weight = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, layers: Sequence[Tensor], *, length: Tensor | None = None) -> Tensor:
        """[B, T, D] each, to [B, T, D]; `length` [B] keeps padding out of the norm."""
        if len(layers) != len(self.weight):
            raise PlumeError(f"A mixture of {len(self.weight)} layers was given {len(layers)}.")
        if self.norm:
            layers = [_normed(layer, length) for layer in layers]
        shares = self.scale * self.weight.softmax(0)
        mixed = layers[0] * shares[0]
        for layer, share in zip(layers[1:], shares[1:], strict=True):
            mixed = mixed + layer * share
        return mixed

    def penalty(self, strength: float) -> Tensor:
        """λ · Σ w², to be added to the loss: a large λ keeps the mixture near the mean, a small one lets layers differ (§4, §5.1)."""
        return strength * self.weight.square().sum()


def _normed(layer: Tensor, length: Tensor | None) -> Tensor:
    """One mean and variance over all tokens and features of the batch, as bilm-tf's `do_layer_norm`: padding does not count."""
    rows, time, width = layer.shape
    if length is None:
        kept = layer.new_ones(rows, time, 1)
    else:
        kept = (torch.arange(time, device=layer.device) < length[:, None])[:, :, None].to(layer.dtype)
    count = kept.sum() * width
    mean = (layer * kept).sum() / count
    variance = ((layer - mean) * kept).square().sum() / count
    return (layer - mean) * torch.rsqrt(variance + _EPSILON)
