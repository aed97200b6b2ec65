"""The pointwise functions between the two feed-forward products."""

from __future__ import annotations

import enum

import torch.nn.functional as F
from torch import Tensor


class Activation(enum.StrEnum):
    """GELU is the exact one; GELU_TANH its tanh approximation, which GPT-2 and ALBERT use."""

    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    RELU = "relu"
    TANH = "tanh"  # of a classifier's own layer

    def __call__(self, value: Tensor) -> Tensor:
        if self is Activation.RELU:
            return F.relu(value)
        if self is Activation.TANH:
            return value.tanh()
        return F.gelu(value, approximate="tanh" if self is Activation.GELU_TANH else "none")
