"""The weights of a linear layer, by scikit-learn: the same each time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from plume.heads.head import Head
from plume.heads.sentence_classification import Choice, MultiLabelClassification, SentenceRegression
from plume.tuning.linear.terms import Floats
from plume.tuning.rows.rows import Array

_STEPS = 200
_NEVER = -30.0  # the score of a label that no training example has


@dataclass(frozen=True, kw_only=True)
class LinearLayer:
    """A score for each class."""

    weight: Floats  # [columns, classes]
    bias: Floats  # [classes]

    def __call__(self, features: csr_matrix) -> Floats:
        """[N, classes]"""
        return np.asarray(features @ self.weight + self.bias, np.float32)


def solve(head: Head, features: csr_matrix, value: NDArray, groups: Array, *, classes: int, strength: float) -> LinearLayer:
    """The layer that answers as the task's head would be asked to: one of several labels, each by itself, a number, or one of a group's rows."""
    if isinstance(head, SentenceRegression):
        return _number(features, value, strength)
    if isinstance(head, Choice):
        return _choice(features, value, groups, strength)
    if isinstance(head, MultiLabelClassification):
        layers = [_labels(features, value[:, label].astype(np.int64), 2, strength) for label in range(classes)]
        weight = np.stack([one.weight[:, 1] - one.weight[:, 0] for one in layers], axis=1)
        return LinearLayer(weight=weight, bias=np.array([one.bias[1] - one.bias[0] for one in layers], np.float32))
    return _labels(features, value, classes, strength)


def _labels(features: csr_matrix, value: NDArray, classes: int, strength: float) -> LinearLayer:
    """Multinomial logistic regression."""
    weight, bias = np.zeros((features.shape[1], classes), np.float32), np.full(classes, _NEVER, np.float32)
    there = np.unique(value)
    if len(there) == 1:
        bias[there] = 0.0
        return LinearLayer(weight=weight, bias=bias)
    fitted = _logistic(features, value, strength)
    if len(there) == 2:  # scikit-learn has one score for two
        weight[:, there] = np.outer(fitted.coef_[0], [-0.5, 0.5])
        bias[there] = fitted.intercept_[0] * np.array([-0.5, 0.5])
    else:
        weight[:, there], bias[there] = fitted.coef_.T, fitted.intercept_
    return LinearLayer(weight=weight, bias=bias)


def _number(features: csr_matrix, value: NDArray, strength: float) -> LinearLayer:
    """Ridge regression."""
    from sklearn.linear_model import Ridge

    fitted = Ridge(alpha=1 / strength, solver="lsqr").fit(features, value)
    return LinearLayer(weight=fitted.coef_[:, None].astype(np.float32), bias=np.array([fitted.intercept_], np.float32))


def _choice(features: csr_matrix, value: NDArray, groups: Array, strength: float) -> LinearLayer:
    """By how the right row differs from each of the others of its group; every second difference the other way round, so that both occur."""
    differences = []
    for right, (first, last) in zip(value.tolist(), pairwise(groups.tolist()), strict=True):
        others = [row for row in range(first, last) if row != first + right]
        differences.append(features[[first + right] * len(others)] - features[others])
    made = vstack(differences, format="csr")
    sign = np.where(np.arange(made.shape[0]) % 2, -1.0, 1.0)
    made.data = made.data * np.repeat(sign, np.diff(made.indptr)).astype(np.float32)
    fitted = _logistic(made, (sign > 0).astype(np.int64), strength, bias=False)
    return LinearLayer(weight=fitted.coef_.T.astype(np.float32), bias=np.zeros(1, np.float32))


def _logistic(features: csr_matrix, value: NDArray, strength: float, *, bias: bool = True) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the steps are limited on purpose
        return LogisticRegression(C=strength, max_iter=_STEPS, fit_intercept=bias).fit(features, value)
