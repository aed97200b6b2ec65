"""One vector for a text."""

from __future__ import annotations

import enum

import torch
from torch import Tensor, nn


class Pooler(nn.Module):
    """BERT's: a dense layer and tanh on the first token, trained by the sentence objective."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., D] states of the first token to the same shape."""
        return torch.tanh(self.dense(hidden))


class Pooling(enum.StrEnum):
    """How `embed` makes one vector of a text's token vectors."""

    MEAN = "mean"
    FIRST = "first"
    LAST = "last"
    MAX = "max"

    def __call__(self, hidden: Tensor, length: Tensor) -> Tensor:
        """[B, T, D] with [B] lengths to [B, D]."""
        if self is Pooling.FIRST:
            return hidden[:, 0]
        if self is Pooling.LAST:
            return hidden[torch.arange(len(hidden), device=hidden.device), length - 1]
        inside = (torch.arange(hidden.shape[1], device=hidden.device) < length[:, None])[..., None]
        if self is Pooling.MAX:
            return hidden.masked_fill(~inside, float("-inf")).amax(1)
        return (hidden * inside).sum(1) / length[:, None].to(hidden.dtype)
