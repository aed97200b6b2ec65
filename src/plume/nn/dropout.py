"""Dropout whose random bits are cheap on a CPU.

torch draws one Mersenne number an element there, which costs more than the matrix product before it. Here one 64-bit draw serves four
elements, 16 bits each; the keep probability is rounded to 1/65536 and the scale uses the rounded value, so the mean is exact.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_LEVELS = 1 << 16


def keep_mask(like: Tensor, probability: float) -> tuple[Tensor, float]:
    """A 0/1 mask in the type of `like`, and the factor that keeps the mean."""
    dropped = round(probability * _LEVELS)
    bits = torch.empty((like.numel() + 3) // 4, dtype=torch.int64, device=like.device).random_(-(2**63), None)
    lanes = bits.view(torch.int16)[: like.numel()].view(like.shape)
    return (lanes >= dropped - _LEVELS // 2).to(like.dtype), _LEVELS / (_LEVELS - dropped)


class _CheapDropout(torch.autograd.Function):
    @staticmethod
    def forward(context, value, probability):  # type: ignore[no-untyped-def]
        mask, scale = keep_mask(value, probability)
        context.save_for_backward(mask)
        context.scale = scale
        return (value * mask).mul_(scale)

    @staticmethod
    def backward(context, gradient):  # type: ignore[no-untyped-def]
        (mask,) = context.saved_tensors
        return (gradient * mask).mul_(context.scale), None


def dropout(value: Tensor, probability: float, *, training: bool) -> Tensor:
    """Each element is 0 with that probability, and the others grow so that the mean stays."""
    if not training or probability == 0.0:
        return value
    if value.device.type == "cpu" and 0.0 < probability < 1.0:
        result: Tensor = _CheapDropout.apply(value, probability)  # type: ignore[no-untyped-call]
        return result
    return F.dropout(value, probability, training=True)


class Dropout(nn.Module):
    """Drop-in for `nn.Dropout`."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, value: Tensor) -> Tensor:
        return dropout(value, self.probability, training=self.training)


class ChannelDropout(Dropout):
    """[B, T, D]: a row loses the same features at all of its tokens, so that no single word is lost (Keras' SpatialDropout1D)."""

    def forward(self, value: Tensor) -> Tensor:
        if not self.training or self.probability == 0.0:
            return value
        mask, scale = keep_mask(value[:, 0], self.probability)
        return value * (mask * scale)[:, None]
