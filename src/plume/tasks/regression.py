"""Regression: a number for a text, or for a pair of texts."""

from plume.tuning.kinds.regression import Regression

TASK = Regression(kind="regression", title="regression on texts or text pairs", metric="pearson")
