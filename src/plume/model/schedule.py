"""How the learning rate moves, as a factor of its peak over the run's progress (0 to 1), so that any kind of budget can drive it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from plume.core.errors import PlumeError
from plume.core.part import Part


@dataclass(frozen=True, kw_only=True)
class Schedule(Part):
    """`warmup` is the share of the run during which the rate rises linearly from 0."""

    warmup: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.warmup < 1:
            raise PlumeError(f"A warm-up of {self.warmup} is not a share of the run: give a number from 0 to below 1.")

    def factor(self, progress: float) -> float:
        """Of the peak, at this share of the run."""
        if progress < self.warmup:
            return progress / self.warmup
        return self.after(min((progress - self.warmup) / (1 - self.warmup), 1.0))

    def after(self, progress: float) -> float:
        """The factor once warm, over the rest of the run."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Constant(Schedule):
    """Constant, with warm-up if one is given."""

    def after(self, progress: float) -> float:
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Linear(Schedule):
    """Down to 0 in a straight line."""

    def after(self, progress: float) -> float:
        return 1.0 - progress


@dataclass(frozen=True, kw_only=True)
class Cosine(Schedule):
    """Down to 0 along half a cosine."""

    def after(self, progress: float) -> float:
        return 0.5 * (1 + math.cos(math.pi * progress))


@dataclass(frozen=True, kw_only=True)
class CosineRestarts(Schedule):
    """Cosine that starts again from the peak `cycles` times."""

    cycles: int = 2

    def after(self, progress: float) -> float:
        return 0.0 if progress >= 1 else 0.5 * (1 + math.cos(math.pi * ((progress * self.cycles) % 1.0)))


@dataclass(frozen=True, kw_only=True)
class Polynomial(Schedule):
    """From the peak down to `end` (a share of the peak) along (1 - progress)^power."""

    power: float = 2.0
    end: float = 0.0

    def after(self, progress: float) -> float:
        return self.end + (1 - self.end) * (1 - progress) ** self.power


@dataclass(frozen=True, kw_only=True)
class InverseSquareRoot(Schedule):
    """From the peak down with the square root of the steps, counted from the first of the warm-up (arXiv:1706.03762 §5.3; T5).

    As a factor of the peak over progress p it is sqrt(warmup / p), so that a run that is twice as long has the same shape stretched.
    Its warm-up must be given: it is what the decay is measured in.

    >>> [InverseSquareRoot(warmup=0.1).factor(progress) for progress in (0.05, 0.1, 0.4)]
    [0.5, 1.0, 0.5]
    """

    warmup: float = 0.04  # 4,000 steps of 100,000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.warmup == 0:
            raise PlumeError("An inverse square root decays in units of its warm-up: give a share of the run above 0.")

    def after(self, progress: float) -> float:
        return math.sqrt(self.warmup / (self.warmup + progress * (1 - self.warmup)))


@dataclass(frozen=True, kw_only=True)
class HeldInverseSquareRoot(Schedule):
    """The peak for a first share of the run, then down with the square root of the steps (T5, arXiv:1910.10683 §3.1.2: 1/√max(n, 10⁴)).

    >>> [HeldInverseSquareRoot(hold=0.1).factor(progress) for progress in (0.0, 0.1, 0.4)]
    [1.0, 1.0, 0.5]
    """

    hold: float = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.hold <= 1:
            raise PlumeError(f"HeldInverseSquareRoot(hold={self.hold}): give the share of the run at the peak, above 0 and up to 1.")

    def after(self, progress: float) -> float:
        return math.sqrt(self.hold / max(progress, self.hold))


@dataclass(frozen=True, kw_only=True)
class SlantedTriangular(Schedule):
    """Up to the peak in a short rise, then a long straight way down to 1/`ratio` of it, where the rise begins too (ULMFiT, arXiv:1801.06146 §3.2).

    >>> [round(SlantedTriangular().factor(progress), 3) for progress in (0.0, 0.05, 0.1, 0.55, 1.0)]
    [0.031, 0.516, 1.0, 0.516, 0.031]
    """

    warmup: float = 0.1  # cut_frac
    ratio: float = 32.0

    def factor(self, progress: float) -> float:
        share = progress / self.warmup if progress < self.warmup else self.after(min((progress - self.warmup) / (1 - self.warmup), 1.0))
        return (1 + share * (self.ratio - 1)) / self.ratio

    def after(self, progress: float) -> float:
        return 1.0 - progress


@dataclass(frozen=True, kw_only=True)
class LinearStages(Schedule):
    """Up and down in a straight line, in each stretch anew: as TinyBERT's two trainings have it (arXiv:1909.10351 §4.2).

    >>> [round(LinearStages(warmup=0.1, bounds=(0.0, 0.5, 1.0)).factor(p), 2) for p in (0.05, 0.275, 0.5, 0.55, 0.775)]
    [1.0, 0.5, 0.0, 1.0, 0.5]
    """

    bounds: tuple[float, ...] = (0.0, 1.0)

    def factor(self, progress: float) -> float:
        for begin, end in pairwise(self.bounds):
            if begin <= progress < end:
                return Linear(warmup=self.warmup).factor((progress - begin) / (end - begin))
        return 0.0
