"""What of teacher and student is compared: answers, here. Each comparison is a part with a weight, its stretch of the run, and its loss.

Losses are sums over answers (or tokens) of means over what one has, so that a weight means the same in every network and batch.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.heads.head import ScoreKind

_NEVER = -1e3  # a score below this is no answer: a place where none can be


class Weighing(enum.StrEnum):
    """How a weight moves over the comparison's stretch of the run."""

    CONSTANT = "constant"
    RISING = "rising"  # from nothing to all of it: gold labels under teacher annealing (BAM, arXiv:1907.04829 §3.2)
    FALLING = "falling"  # the teacher's


@dataclass(frozen=True, kw_only=True)
class DistilLoss(Part):
    """Base of all. `during` is its stretch of the run."""

    weight: float = 1.0
    weighing: Weighing = Weighing.CONSTANT
    during: tuple[float, float] = (0.0, 1.0)

    layers: ClassVar[bool] = False  # does it read hidden states?
    looks: ClassVar[bool] = False  # does it read attentions?

    def __post_init__(self) -> None:
        if not self.weight > 0 or not 0 <= self.during[0] < self.during[1] <= 1:
            raise PlumeError(f"{type(self).__name__}: a weight is above 0, and a stretch of the run lies within 0 and 1.")

    @property
    def name(self) -> str:
        """Of its loss in logs, and in --set comparisons.hidden_distance.weight=2."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def counts_at(self, progress: float) -> bool:
        """Is this its stretch of the run?"""
        begin, end = self.during
        return begin <= progress < end or (end == 1.0 and progress >= 1.0)

    def factor(self, progress: float) -> float:
        """What it weighs at this point of the run."""
        if not self.counts_at(progress):
            return 0.0
        begin, end = self.during
        share = (progress - begin) / (end - begin)
        return self.weight * {Weighing.CONSTANT: 1.0, Weighing.RISING: share, Weighing.FALLING: 1 - share}[self.weighing]


@dataclass(frozen=True, kw_only=True)
class Gold(DistilLoss):
    """The answers that people gave, as in plain tuning."""


@dataclass(frozen=True, kw_only=True)
class Logits(DistilLoss):
    """The teacher's answers (arXiv:1503.02531): T² · KL at temperature T, or, with `squared`, the squared distance of raw scores (Tang et al.,
    arXiv:1903.12136 §3.2). With several teachers the mean of their scores."""

    temperature: float = 1.0
    squared: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.temperature > 0:
            raise PlumeError(f"A temperature is above 0, not {self.temperature}.")

    def total(self, student: Tensor, teacher: Tensor, answer: ScoreKind) -> Tensor:
        """Summed over answers. What the teacher does not say is NaN, a choice that is none -inf."""
        silent = torch.isnan(teacher)
        if silent.any():
            said = ~silent.flatten(1).any(1)
            student, teacher = student[said], teacher[said]
        if self.squared or answer is ScoreKind.NUMBER:
            there = teacher > _NEVER if answer is not ScoreKind.NUMBER else torch.ones_like(teacher, dtype=torch.bool)
            apart = torch.where(there, student, 0.0) - torch.where(there, teacher, 0.0)
            return ((apart**2).flatten(1).sum(1) / there.flatten(1).sum(1).clamp(min=1)).sum()
        scale, student, teacher = self.temperature**2, student / self.temperature, teacher / self.temperature
        if answer is ScoreKind.EACH:
            said = teacher.sigmoid()
            apart = F.binary_cross_entropy_with_logits(student, said, reduction="none") - _binary_entropy(said)
            return scale * apart.mean(-1).sum()
        axis = 1 if answer is ScoreKind.PLACE else -1
        log_student, log_teacher = student.log_softmax(axis), teacher.log_softmax(axis)
        apart = torch.where(torch.isfinite(teacher), log_teacher.exp() * (log_teacher - log_student), 0.0).sum(axis)
        return scale * (apart.mean(-1) if answer is ScoreKind.PLACE else apart).sum()


def _binary_entropy(share: Tensor) -> Tensor:
    return -(torch.xlogy(share, share) + torch.xlogy(1 - share, 1 - share))


def stretch_of(comparisons: Sequence[DistilLoss]) -> tuple[float, float] | None:
    """From where to where in the run some of them count; None: nowhere. A gap between is refused."""
    if not comparisons:
        return None
    ordered = sorted(one.during for one in comparisons)
    end = ordered[0][1]
    for begin, after in ordered:
        if begin > end:
            raise PlumeError(f"Between {end:.0%} and {begin:.0%} of the run there would be nothing to learn from: let the stretches meet.")
        end = max(end, after)
    return ordered[0][0], end
