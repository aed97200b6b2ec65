"""Partial pooling: what a study of many models says about each of them.

The best of twelve equal models looks better than it is, and each of the others seems to have a fair chance of being better still. How much the
models truly differ is estimated together with them (Rubin 1981, Journal of Educational Statistics 6(4); flat in the deviation, Gelman 2006):
where they scatter no more than their noise, they are drawn together; where they differ widely, or are two, next to nothing changes.
"""

from __future__ import annotations

import numpy as np

from plume.metrics.resampled.measures import Floats

_DEVIATIONS = np.linspace(0.0, 0.3, 601)[:, None]  # between the models' true qualities
_TINY = 1e-12


def pooled(means: Floats, noise: Floats) -> Floats:
    """True qualities [M, B], given what was measured [M] and draws of its noise [M, B], which stay paired."""
    models, draws = noise.shape
    if models < 2:
        return means[:, None] + noise
    common = noise.mean(0)  # rows that are hard for all
    own = noise - common
    low, high = np.percentile(own, [16, 84], axis=1)
    variance = ((high - low) / 2) ** 2 * models / (models - 1) + _TINY  # by percentiles: Student's tails have none
    chance = np.random.default_rng(0)
    total = variance + _DEVIATIONS**2  # [G, M]
    precision = (1 / total).sum(1)
    centre = (means / total).sum(1) / precision
    fit = -0.5 * (np.log(total).sum(1) + ((means - centre[:, None]) ** 2 / total).sum(1) + np.log(precision))
    likely = np.exp(fit - fit.max())
    drawn = chance.choice(len(likely), size=draws, p=likely / likely.sum())
    middle = centre[drawn] + chance.normal(size=draws) / np.sqrt(precision[drawn])
    between = _DEVIATIONS[drawn, 0] ** 2
    kept = between / (between + variance[:, None])  # [M, B]: of a model's distance to the others
    return middle + kept * (means[:, None] - middle) + np.sqrt(kept) * own + common
