"""AdamW (arXiv:1711.05101) with the usual exemptions."""

from __future__ import annotations

import torch
from torch import nn

from plume.model.recipe import Training


def decayed(name: str, parameter: nn.Parameter) -> bool:
    """Weight decay is for matrices; biases and norms are exempt (as in BERT's optimization.py)."""
    return parameter.ndim > 1 and not name.endswith("bias")


def make_optimiser(model: nn.Module, training: Training) -> torch.optim.AdamW:
    groups = [
        {"params": [p for name, p in model.named_parameters() if decayed(name, p)], "weight_decay": training.decay},
        {"params": [p for name, p in model.named_parameters() if not decayed(name, p)], "weight_decay": 0.0},
    ]
    betas = (training.beta1, training.beta2)
    return torch.optim.AdamW(groups, lr=training.peak, betas=betas, eps=training.epsilon, fused=True)
