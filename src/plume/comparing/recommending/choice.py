"""The choice: expected quality decides, and a cheaper model is taken where it hardly risks to lose more than a margin.

That two models cannot be told apart is no reason to take the worse one: it is the best guess that it is worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.comparing.recommending.chances import JointDraws

RISK = 0.1  # the probability of losing more than the margin that a cheaper model may have
OPEN = 0.2  # where another model is better by more than the margin with a higher probability than this, the study has not decided
_JITTER = 0.9  # timings of the same network differ by some percent
_EQUAL = 1e-9


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A candidate: how good, and at what cost."""

    model: str
    quality: float
    per_second: float  # predictions; 0: not timed
    disk: int
    control: bool = False

    def cheaper(self, other: Offer) -> bool:
        """Clearly faster; or as fast, and clearly smaller."""
        if other.per_second < _JITTER * self.per_second:
            return True
        return self.per_second >= _JITTER * other.per_second and self.disk < _JITTER * other.disk


def highest(offers: Sequence[Offer]) -> Offer:
    """By quality; of equals the faster, then the smaller."""
    return max(offers, key=lambda one: (one.quality, one.per_second, -one.disk))


def equal(offers: Sequence[Offer]) -> bool:
    """Have several models all the same quality? Then nothing was learned about them but their speed."""
    values = [one.quality for one in offers]
    return len(values) > 1 and max(values) - min(values) < _EQUAL


def choose(offers: Sequence[Offer], draws: JointDraws, margin: float, beside: Sequence[Offer] = ()) -> Offer:
    """The highest quality; or the cheapest of those that lose more than the margin against it with a probability under `RISK`. What is `beside` is
    held against them too, and never chosen."""
    best = highest(offers)
    taken = [
        one
        for one in offers
        if one.cheaper(best) and draws.below(one.model, best.model, margin) < RISK and not _below_control(one, [*offers, *beside])
    ]
    if not taken:
        return best
    fastest = max(one.per_second for one in taken)
    return highest([one for one in taken if one.per_second >= _JITTER * fastest])


def _below_control(one: Offer, offers: Sequence[Offer]) -> bool:
    """Is there a control that costs no more and is at least as good?"""
    return any(other.control and other is not one and other.quality >= one.quality and not one.cheaper(other) for other in offers)
