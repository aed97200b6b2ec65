"""AdamW (arXiv:1711.05101)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from plume.model.optimizers.optimizer import Group, Optimizer


@dataclass(frozen=True, kw_only=True)
class AdamW(Optimizer):
    """Adam whose weight decay stays out of the moments: torch's own, fused."""

    def build(self, groups: list[Group], *, rate: float, betas: tuple[float, float], epsilon: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(groups, lr=rate, betas=betas, eps=epsilon, fused=True)
