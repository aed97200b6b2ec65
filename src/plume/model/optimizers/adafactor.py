"""Adafactor (arXiv:1804.04235): a matrix' second moments are kept as the product of a row and a column, and steps are relative to the weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from plume.core.errors import PlumeError
from plume.model.optimizers.optimizer import Group, OneByOne, Optimizer
from plume.model.sharded import beside, whole

_LEAST_SQUARE, _LEAST_SCALE = 1e-30, 1e-3  # epsilon 1 and 2 of Algorithm 4
_LEAST_SIDE = 128  # smaller matrices are not worth factoring (tensor2tensor and mesh_tensorflow, as T5 and PEGASUS ran it)


@dataclass(frozen=True, kw_only=True)
class Adafactor(Optimizer):
    """Algorithms 4 and 5, without momentum: betas and epsilon are not used, and a rate is a share of each matrix' own size.

    torch's own caps the rate at 1/√t and factors every matrix, which T5 and PEGASUS do not.
    """

    exponent: float = 0.8  # the second moments' decay at step t is 1 - t^-exponent (§7.2)
    clip: float = 1.0  # the largest root mean square of a step before the rate (§6)

    def __post_init__(self) -> None:
        if not 0 < self.exponent <= 1 or self.clip <= 0:
            raise PlumeError(f"Adafactor(exponent={self.exponent}, clip={self.clip}): an exponent above 0 and up to 1, a clip above 0.")

    def build(self, groups: list[Group], *, rate: float, betas: tuple[float, float], epsilon: float) -> torch.optim.Optimizer:
        return _Adafactor(groups, {"lr": rate, "weight_decay": 0.0, "exponent": self.exponent, "clip": self.clip})


class _Adafactor(OneByOne):
    def change(self, parameter: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> None:
        if not state:
            state |= _fresh(parameter)
        state["step"] += 1
        fresh = state["step"] ** -group["exponent"]  # the share of the newest square: 1 at the first step
        squared = gradient.square() + _LEAST_SQUARE
        if "rows" in state:
            update = gradient * _factored(squared, state, fresh)
        else:
            update = gradient * _mixed(state["exp_avg_sq"], squared, fresh).rsqrt()
        update.div_((_rms(update) / group["clip"]).clamp(min=1.0))
        if group["weight_decay"]:
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.sub_(update.mul_(_rms(parameter).clamp(min=_LEAST_SCALE) * group["lr"]))


def _fresh(parameter: Tensor) -> dict[str, Tensor]:
    step = torch.zeros((), device=parameter.device)
    if parameter.ndim != 2 or min(parameter.shape) < _LEAST_SIDE:
        return {"step": step, "exp_avg_sq": torch.zeros_like(parameter)}
    rows, columns = (torch.zeros(size, dtype=parameter.dtype, device=parameter.device) for size in parameter.shape)
    return {"step": step, "rows": rows, "columns": columns}


def _factored(squared: Tensor, state: dict[str, Tensor], fresh: Tensor) -> Tensor:
    """One over the root of the second moments: their row times their column, over the mean of either."""
    rows = _mixed(state["rows"], whole(squared.sum(1)) / squared.shape[1], fresh)
    columns = _mixed(state["columns"], whole(squared.sum(0)) / squared.shape[0], fresh)
    return beside((rows / rows.mean()).rsqrt()[:, None], squared) * beside(columns.rsqrt()[None, :], squared)


def _mixed(held: Tensor, new: Tensor, share: Tensor) -> Tensor:
    return held.mul_(1 - share).add_(new * share)


def _rms(values: Tensor) -> Tensor:
    """Over the whole matrix, whoever holds its parts."""
    return (whole(values.square().sum()) / values.numel()).sqrt()
