"""Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon): momentum made orthogonal, for the matrices inside the blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.model.optimizers.optimizer import Group, Optimizer
from plume.model.sharded import beside, whole

# Of the quintic that drives singular values towards 1, fastest from near 0: what comes out lies within about 0.7 and 1.2.
_QUINTIC = (3.4445, -4.7750, 2.0315)
_TINY = 1e-7


@dataclass(frozen=True, kw_only=True)
class Muon(Optimizer):
    """Muon for the blocks' matrices, AdamW for all else: token vectors, heads, norms and biases.

    A matrix' momentum is replaced by the nearest matrix whose singular values are all about 1, so that directions that gradients rarely
    show move as fast as the others. `factor` times the peak learning rate, longer for tall matrices, is the step. Unlike torch's own it
    works in the weights' precision (bfloat16 is slow on CPUs), takes matrices of one shape together, and knows sharded weights.
    """

    factor: float = 5.0  # of the learning rate, for the blocks' matrices
    momentum: float = 0.95
    iterations: int = 5  # of the quintic
    decay: float = 0.0  # of the blocks' matrices; the others have `Training.decay`

    def __post_init__(self) -> None:
        if self.factor <= 0 or not 0 <= self.momentum < 1 or self.iterations < 1 or self.decay < 0:
            raise PlumeError(f"{self}: factor and iterations lie above 0, momentum from 0 to below 1, decay is not negative.")

    def build(self, groups: list[Group], *, rate: float, betas: tuple[float, float], epsilon: float) -> torch.optim.Optimizer:
        return _Muon(self, groups, rate=rate, betas=betas, epsilon=epsilon)


class _Muon(torch.optim.AdamW):
    """The blocks' matrices are changed here, whatever else has a gradient by AdamW."""

    def __init__(self, part: Muon, groups: list[Group], *, rate: float, betas: tuple[float, float], epsilon: float) -> None:
        super().__init__(groups, lr=rate, betas=betas, eps=epsilon, fused=True)
        self._step_supports_amp_scaling = False  # a GradScaler must leave the step out itself where gradients are infinite
        self.part = part

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Every parameter that has a gradient."""
        for group in self.param_groups:
            if group["blocks"]:
                for parameters in _of_one_shape(group["params"]):
                    self._change(parameters, group["lr"])
        super().step(closure)

    def _change(self, parameters: list[Tensor], rate: float) -> None:
        part, steps = self.part, []
        for parameter in parameters:
            gradient = parameter.grad
            assert gradient is not None
            parameter.grad = None  # AdamW leaves it alone
            state = self.state[parameter]
            momentum = state.setdefault("momentum", torch.zeros_like(parameter))
            momentum.lerp_(gradient, 1 - part.momentum)
            steps.append(whole(gradient.lerp(momentum, part.momentum)))  # Nesterov's look ahead
        rows, columns = steps[0].shape
        length = part.factor * rate * max(1.0, rows / columns) ** 0.5
        for parameter, step in zip(parameters, orthogonalised(torch.stack(steps), part.iterations), strict=True):
            if part.decay:
                parameter.mul_(1 - rate * part.decay)
            parameter.sub_(beside(step, parameter), alpha=length)


def _of_one_shape(parameters: list[Tensor]) -> Iterator[list[Tensor]]:
    """Those with a gradient, together where they can be multiplied together."""
    shapes: dict[torch.Size, list[Tensor]] = {}
    for parameter in parameters:
        if parameter.grad is not None:
            shapes.setdefault(parameter.shape, []).append(parameter)
    yield from shapes.values()


def orthogonalised(matrices: Tensor, iterations: int) -> Tensor:
    """[N, rows, columns]: each with its singular vectors kept and its singular values brought near 1 (Newton–Schulz).

    >>> made = orthogonalised(torch.diag(torch.tensor([2.0, -1.0, 0.5]))[None], 5)[0]
    >>> made.diagonal().sign().tolist()
    [1.0, -1.0, 1.0]
    """
    tall = matrices.shape[1] > matrices.shape[2]
    value = matrices.mT if tall else matrices
    value = value / (torch.linalg.matrix_norm(value, keepdim=True) + _TINY)
    a, b, c = _QUINTIC
    for _ in range(iterations):
        square = value @ value.mT
        value = torch.baddbmm(value, torch.baddbmm(square, square, square, beta=b, alpha=c), value, beta=a)
    return value.mT if tall else value
