"""Similarity: how much alike two texts are, as a number (STS-B)."""

from plume.tuning.kinds.regression import Regression

TASK = Regression(kind="similarity", title="semantic textual similarity", metric="spearman", texts=2)
