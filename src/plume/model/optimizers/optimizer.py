"""Optimizer: the part that turns a recipe's numbers into one of torch's optimizers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from plume.core.part import Part

# Parameters that are treated alike: their decay, their rate beside the others', whether they are matrices (no biases, no norms), and
# whether they are matrices of a Transformer's blocks.
Group = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Optimizer(Part):
    """Which of the optimizers trains, with the settings that are its own."""

    def build(self, groups: list[Group], *, rate: float, betas: tuple[float, float], epsilon: float) -> torch.optim.Optimizer:
        """Its state must be tensors, by parameter: what a checkpoint holds. Those of the parameter's shape are spread over processes with it."""
        raise NotImplementedError


class OneByOne(torch.optim.Optimizer):
    """Changes one parameter after the other."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Every parameter that has a gradient."""
        assert closure is None, "the loop has the gradients ready"
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.change(parameter, parameter.grad, self.state[parameter], group)

    def change(self, parameter: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> None:
        """In place; `state` is empty at first."""
        raise NotImplementedError
