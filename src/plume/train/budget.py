"""Budget: how much a run may spend, in time, steps, tokens or FLOPs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_UNITS = ("steps", "tokens", "flops")


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What a run has used so far. Seconds are those of steps, waiting for their batches included: measuring and saving are not charged."""

    steps: int = 0
    tokens: int = 0
    flops: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Budget(Part):
    """How much a run may spend: time, tokens, steps or FLOPs."""

    unit: str  # a field of Spent
    amount: float

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read `10m`, `2h`, `500steps`, `5e6tokens`, `1e14flops`.

        >>> Budget.parse("1h30m").amount
        5400.0
        """
        word = text.strip().lower().replace(" ", "").replace("_", "").replace(",", "")
        number = r"(\d+\.?\d*(?:e[+-]?\d+)?)"
        if found := re.fullmatch(number + r"(steps?|tokens?|flops?)", word):
            unit = next(unit for unit in _UNITS if unit.startswith(found.group(2).rstrip("s")))
            budget = cls(unit=unit, amount=float(found.group(1)))
        elif re.fullmatch(f"(?:{number}[smhd])+", word):
            parts = re.findall(number + "([smhd])", word)
            budget = cls(unit="seconds", amount=sum(float(value) * _SECONDS[unit] for value, unit in parts))
        else:
            raise PlumeError(f"'{text}' is not a budget: write 10m, 2h, 500steps, 5e6tokens or 1e14flops.")
        if not math.isfinite(budget.amount):
            raise PlumeError(f"A budget of '{text}' never ends: give a finite one.")
        if budget.amount <= 0 or (budget.unit == "steps" and budget.amount < 1):
            raise PlumeError(f"A budget of '{text}' buys nothing: give more.")
        return budget

    def progress(self, spent: Spent) -> float:
        """The share used, from 0 to 1 and over."""
        return float(getattr(spent, self.unit)) / self.amount

    @property
    def text(self) -> str:
        """As --budget takes it, to the last digit.

        >>> Budget.parse("1m30s").text, Budget.parse("5e6 tokens").text
        ('90s', '5000000tokens')
        """
        return f"{self.amount:.12g}{'s' if self.unit == 'seconds' else self.unit}"

    def __str__(self) -> str:
        if self.unit != "seconds":
            amount = f"{self.amount:,.0f}" if self.amount < 1e10 and self.amount == int(self.amount) else f"{self.amount:g}"
            return f"{amount} {self.unit if self.amount != 1 else self.unit.removesuffix('s')}"
        minutes, seconds = divmod(round(self.amount), 60)
        hours, minutes = divmod(minutes, 60)
        parts = [f"{value}{unit}" for value, unit in ((hours, "h"), (minutes, "m"), (seconds, "s")) if value]
        return "".join(parts) or f"{self.amount:g}s"
