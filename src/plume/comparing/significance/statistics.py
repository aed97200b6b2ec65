"""What may be said about two models: the difference, its interval, and whether it is more than noise.

Two kinds of noise are in a difference: other test rows, and other seeds. The variance of each is estimated by what shows it best, and they
are added:

- rows: a paired bootstrap. Rows are drawn with replacement, the same for all models, and the scores computed anew.
- seeds: the variance of each model's score from run to run, as `seed_noise` estimates it from all models of the task.

Why not draw rows and seeds together and read the interval off the percentiles? With three seeds that is wrong: a resample of three values has
two thirds of their variance, and percentiles know nothing of how little three values tell. Where seeds make most of the noise, one of two equally
good models comes out better in 15 to 20 of 100 studies instead of 5 (tests/unit/comparing/test_statistics.py measures it). Nor can a share of
2,000 resamples be small enough where a hundred pairs are to be told apart. So the bootstrap gives variances, and Student's t the rest: see
`pair_noise`, whose rule keeps false findings at about 5 of 100 or fewer, for a pair and (by Holm) for all pairs of a task.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from plume.comparing.results import Comparison, Summary, Verdict
from plume.comparing.significance.pair_noise import PairNoise, noise_between
from plume.comparing.significance.resampling import Resampled, Scores
from plume.comparing.significance.seed_noise import seed_spreads
from plume.metrics.scores import confidence_interval

LEVEL = 0.05
_MOST_SEEDS = 10_000  # more are as good as none


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95% of the mean over seeds, by Student's t. None: one value says nothing about it.

    >>> [round(end, 3) for end in interval([0.8, 0.9, 1.0])]
    [0.652, 1.148]
    """
    mean, half = confidence_interval(values)
    return None if math.isnan(half) else (mean - half, mean + half)


def compare_all(task: str, table: Mapping[str, Resampled]) -> list[Comparison]:
    """Every pair of models, in their order."""
    pairs = list(combinations(table, 2))
    spreads = seed_spreads({model: one.scores for model, one in table.items()})
    noise = [noise_between(table[one], table[other], None if spreads is None else (spreads[one], spreads[other])) for one, other in pairs]
    differences = [table[one].mean - table[other].mean for one, other in pairs]
    adjusted, times = holm([some.p(difference) for difference, some in zip(differences, noise, strict=True)])
    return [
        _comparison(task, pair, table, difference=difference, noise=some, p=p, level=LEVEL / many)
        for pair, difference, some, p, many in zip(pairs, differences, noise, adjusted, times, strict=True)
    ]


def _comparison(
    task: str, pair: tuple[str, str], table: Mapping[str, Resampled], *, difference: float, noise: PairNoise, p: float, level: float
) -> Comparison:
    first, second = (table[model] for model in pair)
    half = noise.half(LEVEL)
    better = Verdict.FIRST if difference > 0 else Verdict.SECOND
    verdict = better if p < LEVEL else Verdict.SAME
    seeds = min(len(first.seeds), len(second.seeds))
    return Comparison(
        task=task,
        first=pair[0],
        second=pair[1],
        difference=difference,
        low=difference - half,
        high=difference + half,
        p=p,
        verdict=verdict,
        seeds=seeds,
        more_seeds=more_seeds(difference, noise, seeds=seeds, level=level) if verdict is Verdict.SAME else None,
    )


def more_seeds(difference: float, noise: PairNoise, *, seeds: int, level: float) -> int | None:
    """How many more of each model would tell them apart, if difference and noise stay what they are; None: the rows are too few for any number.

    The smallest n with q · sqrt(rows + seeds / n) < |difference|, where q is the quantile at the level that Holm asks of this pair.
    """
    if not noise.one_seed:
        return None

    def enough(count: int) -> bool:
        return noise.with_seeds(count).half(level) < abs(difference)

    wanted = bisect_left(range(_MOST_SEEDS + 1), True, lo=seeds + 1, key=enough)
    return wanted - seeds if wanted <= _MOST_SEEDS else None


def holm(values: Sequence[float]) -> tuple[list[float], list[int]]:
    """Values of p adjusted for their number (Holm 1979), and by how much each was multiplied.

    >>> holm([0.01, 0.04, 0.03])
    ([0.03, 0.06, 0.06], [3, 1, 2])
    """
    adjusted, times, highest = [0.0] * len(values), [0] * len(values), 0.0
    for rank, place in enumerate(np.argsort(values, kind="stable").tolist()):
        times[place] = len(values) - rank
        highest = max(highest, min(times[place] * values[place], 1.0))
        adjusted[place] = highest
    return adjusted, times


def summaries(task: str, scores: Scores, comparisons: Sequence[Comparison]) -> list[Summary]:
    """Each model's mean over seeds; those not told apart from the best are its group."""
    values = {model: [one.score for one in by_seed.values()] for model, by_seed in scores.items() if by_seed}
    if not values:
        return []
    means = {model: float(np.mean(some)) for model, some in values.items()}
    group = alike(max(means, key=lambda model: means[model]), [one for one in comparisons if one.task == task])
    ends = {model: interval(some) or (None, None) for model, some in values.items()}
    return [
        Summary(
            model=model, task=task, mean=means[model], low=ends[model][0], high=ends[model][1], seeds=len(some), best_group=model in group
        )
        for model, some in values.items()
    ]


def alike(model: str, comparisons: Sequence[Comparison]) -> set[str]:
    """The model, and all that cannot be told apart from it."""
    same = [{one.first, one.second} for one in comparisons if one.verdict is Verdict.SAME]
    return {model}.union(*(pair for pair in same if model in pair))
