"""How much a model's score moves from seed to seed, estimated from few seeds of many models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from plume.metrics.resampled.measures import Floats

_STILL = 1e-18  # no variance but rounding


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How much one model moves from seed to seed, and how well that is known."""

    variance: float  # of one run's score
    freedom: int  # degrees, by its own runs: one less than they are
    others: float  # what the other models add to them


def seed_spreads(scores: Mapping[str, Floats]) -> dict[str, Spread] | None:
    """For each model, given its scores over seeds; None where no model has two.

    Three seeds say next to nothing about one model's variance: where there are 66 pairs to tell apart, Student's t with two degrees of freedom
    asks for a difference of 36 standard errors. But a study has many models with as many seeds each, and their variances are of one order.
    So each is drawn towards what all have in common, the more so the more alike they are (the moderated variances of Smyth 2004, Statistical
    Applications in Genetics and Molecular Biology 3(1)). The others are given no more weight than their own degrees of freedom,
    so that two models alone are on their own: of two variances nobody can say whether they are alike.
    """
    freedom = {model: len(values) - 1 for model, values in scores.items()}
    own = {model: float(np.var(values, ddof=1)) for model, values in scores.items() if len(values) > 1}
    if not own:
        return None
    # A model that gives the same answers whatever the seed (the most frequent label, say) tells nothing about the others.
    moving = {model: value for model, value in own.items() if value > _STILL}
    degrees = np.array([freedom[model] for model in moving], np.float64)
    common, weight = _prior(np.array(list(moving.values())), degrees)
    weight = min(weight, float(np.sort(degrees)[2:].sum()))  # all but the pair's
    return {
        model: Spread(variance=_drawn(own.get(model), freedom[model], common, weight), freedom=freedom[model], others=weight)
        for model in scores
    }


def freedom_of_pair(parts: Sequence[float], spreads: Sequence[Spread]) -> float:
    """Of a sum of two variances: Welch's of their own, and what the others add."""
    known = [(part, spread.freedom) for part, spread in zip(parts, spreads, strict=True) if spread.freedom]
    below = sum(part**2 / degrees for part, degrees in known)
    own = sum(part for part, _ in known) ** 2 / below if below else 0.0
    return max(own + spreads[0].others, 1.0)


def _drawn(own: float | None, freedom: int, common: float, weight: float) -> float:
    """A model with one run, or that stands still, is taken to be like the others."""
    if own is None or own <= _STILL:
        return common
    return (weight * common + freedom * own) / (weight + freedom)


def _prior(variances: Floats, freedom: Floats) -> tuple[float, float]:
    """The variance that the models have in common, and how many degrees of freedom that knowledge is worth (infinite: they do not differ)."""
    if not len(variances):
        return 0.0, math.inf
    pooled = float(np.average(variances, weights=freedom))
    if len(variances) == 1:
        return pooled, math.inf
    # Logarithms of variances: what they scatter beyond chance (trigamma) is the scatter of the true ones.
    centred = np.log(variances) - digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(np.var(centred, ddof=1) - np.mean(polygamma(1, freedom / 2)))
    if excess <= 0:
        return pooled, math.inf
    half = brentq(lambda x: math.log(float(polygamma(1, x))) - math.log(excess), 1e-6, 1e9)
    return float(np.exp(np.mean(centred) + digamma(half) - math.log(half))), 2 * half
