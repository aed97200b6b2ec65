"""Scores that can be resampled: of each test row what its metric adds up, so that thousands of resamples are one matrix product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plume.readers.example import Example

Floats = NDArray[np.float64]
Formula = Callable[[Floats], Floats]  # sums over rows [B, k] to scores [B]


@dataclass(frozen=True, kw_only=True)
class RowScores:
    """A model's answers to the rows of a test file, ready to be scored on any resample of them."""

    rows: int

    def resampled(self, weights: Floats) -> Floats:
        """The score [B] of resamples that hold each row so many times [B, rows]."""
        raise NotImplementedError

    @property
    def score(self) -> float:
        """On the rows as they are: what `Task.measure` says."""
        return float(self.resampled(np.ones((1, self.rows)))[0])


@dataclass(frozen=True, kw_only=True)
class Summed(RowScores):
    """A metric that needs only sums over rows: true positives, n-grams in common, moments …

    >>> mean_of([1.0, 0.0, 1.0, 1.0]).score
    0.75
    """

    statistics: Floats  # [rows, k]
    formula: Formula

    def resampled(self, weights: Floats) -> Floats:
        return self.formula(weights @ self.statistics)


@dataclass(frozen=True, kw_only=True)
class Ranked(RowScores):
    """Spearman's correlation: every resample has ranks of its own."""

    gold: NDArray[np.int64]  # [rows] place among the different values
    predicted: NDArray[np.int64]

    def resampled(self, weights: Floats) -> Floats:
        gold, predicted = _middle_ranks(self.gold, weights), _middle_ranks(self.predicted, weights)
        gold, predicted = (ranks - (self.rows + 1) / 2 for ranks in (gold, predicted))  # the mean rank, with ties and repeated rows too
        products = (gold * predicted, gold * gold, predicted * predicted)
        both, first, second = (np.einsum("br,br->b", weights, product) for product in products)
        return _divided(both, np.sqrt(first * second))


class Measuring(Protocol):
    """What measures answers as a whole: a task."""

    @property
    def metric(self) -> str:
        """The one that decides."""

    def measure(self, examples: Sequence[Example], predictions: Sequence[dict[str, Any]]) -> dict[str, float]:
        """By metric."""


@dataclass(frozen=True, kw_only=True)
class Remeasured(RowScores):
    """Any other metric: the task measures the resampled rows themselves, which is slow."""

    task: Measuring
    examples: Sequence[Example]
    predictions: Sequence[dict[str, Any]]

    def resampled(self, weights: Floats) -> Floats:
        return np.array([self._measured(row) for row in weights])

    def _measured(self, weights: Floats) -> float:
        chosen = np.repeat(np.arange(self.rows), weights.astype(np.int64)).tolist()
        scores = self.task.measure([self.examples[row] for row in chosen], [self.predictions[row] for row in chosen])
        return scores.get(self.task.metric, 0.0)  # the F1 of a class that this resample lacks


Measures = dict[str, Callable[[], RowScores]]  # by metric; made when asked for


def summed(formula: Formula, *columns: Any) -> Summed:
    """Columns are [rows] each, or [rows, k]."""
    statistics = np.column_stack([np.asarray(column, np.float64) for column in columns])
    return Summed(rows=len(statistics), statistics=statistics, formula=formula)


def mean_of(values: Sequence[float] | NDArray[Any]) -> Summed:
    """A metric that is the mean of what each row has."""
    return summed(share, values, np.ones(len(values)))


def ranked(gold: Sequence[float], predicted: Sequence[float]) -> Ranked:
    """Spearman's correlation of two lists of numbers."""
    places = [np.unique(np.asarray(side, np.float64), return_inverse=True)[1] for side in (gold, predicted)]
    return Ranked(rows=len(gold), gold=places[0], predicted=places[1])


# Formulas. What is undefined (0/0) is 0, as in plume.metrics.


def share(sums: Floats) -> Floats:
    """Of a part and the whole."""
    return _divided(sums[:, 0], sums[:, 1])


def f1(sums: Floats) -> Floats:
    """Of right, predicted and gold."""
    return _divided(2 * sums[:, 0], sums[:, 1] + sums[:, 2])


def macro_f1(sums: Floats) -> Floats:
    """Of right, predicted and gold of every class, over the classes that occur on either side."""
    right, predicted, gold = np.split(sums, 3, axis=1)
    present = (predicted + gold > 0).sum(axis=1)
    return _divided(_divided(2 * right, predicted + gold).sum(axis=1), present)


def matthews(sums: Floats) -> Floats:
    """Matthews' correlation over any number of classes (Gorodkin 2004), of right, predicted and gold of every class."""
    right, predicted, gold = np.split(sums, 3, axis=1)
    rows = gold.sum(axis=1)
    covariance = right.sum(axis=1) * rows - (predicted * gold).sum(axis=1)
    spread = (rows**2 - (predicted**2).sum(axis=1)) * (rows**2 - (gold**2).sum(axis=1))
    return _divided(covariance, np.sqrt(spread))


def pearson(sums: Floats) -> Floats:
    """Of 1, x, y, xx, yy, xy, where x and y are centred on the whole set, so that no digits are lost."""
    rows, x, y, xx, yy, xy = sums.T
    spread = np.maximum(xx - x * x / rows, 0) * np.maximum(yy - y * y / rows, 0)
    return _divided(xy - x * y / rows, np.sqrt(spread))


def _divided(above: Floats, below: Floats | NDArray[np.int64]) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _middle_ranks(place: NDArray[np.int64], weights: Floats) -> Floats:
    """[B, rows] from 1; equals share the mean of their ranks."""
    order = np.argsort(place, kind="stable")
    last = np.flatnonzero(np.diff(place[order], append=-1))  # of each value
    upto = np.cumsum(weights[:, order], axis=1)[:, last]
    before = np.concatenate([np.zeros((len(weights), 1)), upto[:, :-1]], axis=1)
    return ((before + upto + 1) / 2)[:, place]
