"""The noise in the difference between two models: of rows and of seeds, as `statistics` explains."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy.optimize import brentq
from scipy.special import stdtrit

from plume.comparing.significance.resampling import Resampled
from plume.comparing.significance.seed_noise import Spread, freedom_of_pair

_SMALLEST = -50.0  # the logarithm: p is never 0, and the quantiles of t are found that far
_EQUAL = 1e-12  # no more than rounding


@dataclass(frozen=True, kw_only=True)
class PairNoise:
    """Variances of a difference between two means over seeds."""

    rows: float  # by rows, which no number of seeds makes smaller
    row_freedom: float
    seeds: float = 0.0  # by seeds, with the seeds that there are
    seed_freedom: float = 1.0
    one_seed: float = 0.0  # by seeds, if each had one
    least: float = 0.0  # by rows with just these runs: the whole is never less

    @property
    def variance(self) -> float:
        """Of rows and seeds together."""
        return max(self.rows + self.seeds, self.least)

    def quantile(self, level: float) -> float:
        """How many standard errors a difference must have, two-sided: Student's t for rows and for seeds, weighed by what each adds.

        The rule of Cochran and Cox (1957, §4.14). Satterthwaite's degrees of freedom, the usual one, are too many where seeds are few.
        """
        by_rows = -float(stdtrit(self.row_freedom, level / 2))
        if not self.seeds:
            return by_rows
        by_seeds = -float(stdtrit(self.seed_freedom, level / 2))
        return (self.rows * by_rows + self.seeds * by_seeds) / (self.rows + self.seeds)

    def half(self, level: float) -> float:
        """Of the interval."""
        return self.quantile(level) * math.sqrt(self.variance)

    def p(self, difference: float) -> float:
        """The level at which the difference is just as wide as the interval's half."""
        if abs(difference) < _EQUAL:
            return 1.0
        # All rows say the same (one model has all right, the other all wrong): no variance, but only so many rows.
        errors = abs(difference) / math.sqrt(self.variance or difference**2 / (self.row_freedom + 1))
        if self.quantile(10**_SMALLEST) <= errors:
            return 10**_SMALLEST
        return 10 ** float(brentq(lambda power: self.quantile(10**power) - errors, _SMALLEST, 0.0))

    def with_seeds(self, count: int) -> PairNoise:
        """Were there so many of each model: every one adds as much to what is known as those that there are."""
        return replace(
            self,
            seeds=self.one_seed / count,
            seed_freedom=self.seed_freedom * count * self.seeds / self.one_seed,
            least=0.0,
        )


def noise_between(first: Resampled, second: Resampled, spreads: tuple[Spread, Spread] | None) -> PairNoise:
    """`spreads`: by seeds, of each model; None: there is one seed each, and only rows are known to make noise."""
    rows = first.rows
    correction = rows / max(rows - 1, 1)  # a resample varies a little less than a sample
    fixed = float((first.draws.mean(0) - second.draws.mean(0)).var(ddof=1)) * correction
    if spreads is None:
        return PairNoise(rows=fixed, row_freedom=max(rows - 1, 1))
    # That a row is hard for one run and not for the next shows in both, so it is taken out of one: what the runs have in common is left.
    own = sum(own_rows(one) / len(one.seeds) for one in (first, second)) * correction
    parts = [spread.variance / len(one.seeds) for spread, one in zip(spreads, (first, second), strict=True)]
    return PairNoise(
        rows=max(fixed - own, 0.0),
        row_freedom=max(rows - 1, 1),
        seeds=sum(parts),
        seed_freedom=freedom_of_pair(parts, spreads),
        one_seed=sum(spread.variance for spread in spreads),
        least=fixed,
    )


def own_rows(one: Resampled) -> float:
    """The variance by rows of a run, apart from what all runs of the model share; unknown, and left in, with one run."""
    runs = len(one.seeds)
    return float((one.draws - one.draws.mean(0)).var(axis=1, ddof=1).sum()) / (runs - 1) if runs > 1 else 0.0
