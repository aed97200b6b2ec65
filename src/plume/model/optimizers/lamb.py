"""LAMB (arXiv:1904.00962): Adam's step, made as long for each matrix as the matrix is large."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from plume.model.optimizers.optimizer import Group, OneByOne, Optimizer
from plume.model.sharded import whole


@dataclass(frozen=True, kw_only=True)
class LAMB(Optimizer):
    """As its authors' code, which ALBERT trained with: moments without correction, biases and norms by Adam's step.

    The paper's Algorithm 2 corrects the moments for their start at 0; for matrices the ratio of norms undoes that anyway.
    """

    def build(self, groups: list[Group], *, rate: float, betas: tuple[float, float], epsilon: float) -> torch.optim.Optimizer:
        return _LAMB(groups, {"lr": rate, "betas": betas, "eps": epsilon, "weight_decay": 0.0, "matrices": True})


class _LAMB(OneByOne):
    def change(self, parameter: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> None:
        if not state:
            state |= {"exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}
        (beta1, beta2), mean, square = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        update = mean / (square.sqrt() + group["eps"])
        if group["weight_decay"]:
            update.add_(parameter, alpha=group["weight_decay"])
        if group["matrices"]:
            update.mul_(_trust(parameter, update))
        parameter.add_(update, alpha=-group["lr"])


def _trust(parameter: Tensor, update: Tensor) -> Tensor:
    """How much larger the whole matrix is than its step; 1 where either is 0."""
    size, length = (whole(torch.linalg.vector_norm(value)) for value in (parameter, update))
    return torch.where((size > 0) & (length > 0), size / length, torch.ones_like(size))
