"""How often a module is replaced, over the run (BERT-of-Theseus, arXiv:2002.02925 §3.3)."""

from __future__ import annotations

from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part


@dataclass(frozen=True, kw_only=True)
class Replacement(Part):
    """Base: a probability for each step. From `until` on, a share of the run, all modules are replaced: the fine-tuning after."""

    until: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.until <= 1:
            raise PlumeError(f"until is a share of the run, above 0 and up to 1, not {self.until}.")

    def probability(self, *, steps: int, progress: float) -> float:
        """When so many steps are done, which are this share of the run."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Rising(Replacement):
    """The paper's curriculum, min(1, first + rate · step).

    >>> [round(Rising().probability(steps=0, progress=share), 2) for share in (0.0, 0.25, 0.5, 0.75)]
    [0.3, 0.65, 1.0, 1.0]
    >>> round(Rising(rate=6e-4).probability(steps=500, progress=0.9), 2)
    0.6
    """

    first: float = 0.3
    rate: float | None = None  # a step, whatever `until` says; None: so that it is 1 there

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.first <= 1 or (self.rate is not None and self.rate <= 0):
            raise PlumeError(f"A replacement rises from a probability above 0 by a rate above 0, not from {self.first} by {self.rate}.")

    def probability(self, *, steps: int, progress: float) -> float:
        risen = (1 - self.first) * progress / self.until if self.rate is None else self.rate * steps
        return min(1.0, self.first + risen)


@dataclass(frozen=True, kw_only=True)
class Steady(Replacement):
    """The same probability until all are replaced.

    >>> [Steady(share=0.4).probability(steps=0, progress=share) for share in (0.0, 0.49, 0.5)]
    [0.4, 0.4, 1.0]
    """

    share: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share <= 1:
            raise PlumeError(f"share is the probability that a module is replaced, above 0 and up to 1, not {self.share}.")

    def probability(self, *, steps: int, progress: float) -> float:
        return self.share if progress < self.until else 1.0
