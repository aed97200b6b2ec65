"""From values to places, and where the ticks go."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LinearScale:
    """
    >>> LinearScale(low=0, high=10, start=100, end=200)(5)
    150.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / ((self.high - self.low) or 1)

    def inside(self, value: float) -> bool:
        """Is the value on the scale?"""
        return self.low <= value <= self.high

    def ticks(self, most: int) -> list[float]:
        """Round numbers, at most `most`, none outside."""
        step = _round_step((self.high - self.low) or 1, most)
        first = math.ceil(self.low / step - 1e-9)
        return [round(n * step, 10) for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass(frozen=True, kw_only=True)
class Logarithmic(LinearScale):
    """For what spans powers of ten, such as speed."""

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / (math.log(self.high / self.low) or 1)
        return self.start + (self.end - self.start) * share

    def ticks(self, most: int) -> list[float]:
        """Powers of ten, with 2 and 5 where there is room; round numbers where it is all one power."""
        if self.high / self.low < 5:
            return super().ticks(most)
        found: list[float] = []
        for steps in ((1,), (1, 3), (1, 2, 5)):
            powers = range(math.floor(math.log10(self.low)) - 1, math.ceil(math.log10(self.high)) + 1)
            made = [step * 10.0**power for power in powers for step in steps if self.inside(step * 10.0**power)]
            if len(made) <= most or not found:
                found = made
        return found


def _round_step(span: float, most: int) -> float:
    rough = span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough * (1 - 1e-9))


def spread(values: Iterable[float], *, around: float = 0.05, least: float = 1e-6) -> tuple[float, float]:
    """The range of the values with some room on both sides."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    room = max((high - low) * around, least, abs(high) * 1e-3)
    return low - room, high + room


def tick_text(value: float) -> str:
    """
    >>> [tick_text(value) for value in (0.5, 60.0, 2000, 3e6)]
    ['0.5', '60', '2,000', '3M']
    """
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M" if abs(value) < 1e9 else f"{value / 1e9:g}G"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
    return text.replace("-", "−")
