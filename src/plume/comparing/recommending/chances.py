"""What the true qualities may be, drawn for all models together; every probability of the recommendation is counted in these draws."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plume.comparing.recommending.pooling import pooled
from plume.comparing.significance.pair_noise import own_rows
from plume.comparing.significance.resampling import Resampled
from plume.comparing.significance.seed_noise import Spread, seed_spreads
from plume.metrics.resampled.measures import Floats

# Where every model has one seed, nothing of the study says how much a run varies. In docs/studies the quality of a tiny model's run varies
# by 0.2 to 4 points, by 1.4 in the mean square; so little is known of it that the tails must be heavy.
UNKNOWN_SPREAD = Spread(variance=0.015**2, freedom=0, others=4.0)
_MOST_FREEDOM = 1e6  # normal, for all that can be told


@dataclass(frozen=True, kw_only=True)
class JointDraws:
    """Qualities as they may truly be: a row a model, a column a draw."""

    models: tuple[str, ...]
    values: Floats  # [M, B]

    def best(self) -> dict[str, float]:
        """The probability of each model of being the best; those that are equal share it."""
        first = self.values == self.values.max(0)
        return dict(zip(self.models, (first / first.sum(0)).mean(1).tolist(), strict=True))

    def below(self, model: str, other: str, margin: float) -> float:
        """The probability that a model is more than the margin below another."""
        return float(np.mean(self.of(other) - self.of(model) > margin))

    def beaten(self, model: str, margin: float) -> float:
        """The probability that any other model is better by more than the margin."""
        return float(np.mean(self.values.max(0) - self.of(model) > margin))

    def of(self, model: str) -> Floats:
        """Of one model."""
        return self.values[self.models.index(model)]


def draw_qualities(table: Mapping[str, Resampled]) -> JointDraws:
    """The noise that `compare_all` tests with, as draws: the bootstrap over rows, which are the same for all models, and Student's t for the seeds.

    Models that may well be alike are drawn towards each other (`pooling`).
    """
    spreads = spreads_of(table)
    means = np.array([one.mean for one in table.values()])
    noise = np.stack([_noise(model, one, spreads[model]) for model, one in table.items()])
    return JointDraws(models=tuple(table), values=pooled(means, noise))


def spreads_of(table: Mapping[str, Resampled]) -> dict[str, Spread]:
    """How much the models move from seed to seed; an assumption where no model has two seeds."""
    return seed_spreads({model: one.scores for model, one in table.items()}) or dict.fromkeys(table, UNKNOWN_SPREAD)


def _noise(model: str, one: Resampled, spread: Spread) -> Floats:
    runs, correction = len(one.seeds), one.rows / max(one.rows - 1, 1)
    moved = one.draws.mean(0)
    # That a row is hard for one run and not for the next is in the draws of rows already.
    variance = max(spread.variance - own_rows(one) * correction, 0.0) / runs
    freedom = min(max(spread.freedom + spread.others, 1.0), _MOST_FREEDOM)
    chance = np.random.default_rng(zlib.crc32(model.encode()))  # its own: another entrant does not change it
    return (moved - moved.mean()) * math.sqrt(correction) + math.sqrt(variance) * chance.standard_t(freedom, len(moved))
