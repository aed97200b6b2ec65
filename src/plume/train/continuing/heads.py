"""Heads that a checkpoint lacks, made so that they need not learn first what is known.

Scores begin at the tokens' frequencies, and states pass the transform as they are: they were trained against the same token vectors. On
all-MiniLM-L6-v2, which has no head, the held-out masked LM after 30,000 tokens of news is 6.58; with a random transform 7.23.
"""

from __future__ import annotations

import numpy as np
import torch

from plume.data.store import Store
from plume.heads.token_prediction import TokenPredictionModule
from plume.model.networks.model import Model


@torch.no_grad()
def start_heads(model: Model, before: Model, store: Store) -> None:
    """Of the heads of `model` that the one `before` it has not, those that predict tokens begin with what is known."""
    for name, head in model.heads.items():
        if name in before.heads or not isinstance(head, TokenPredictionModule):
            continue
        if head.bias is not None:
            counts = np.zeros(len(head.bias)) + 1.0
            counts[: len(store.counts)] += store.counts
            head.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))
        if head.dense is not None and head.dense.in_features == head.dense.out_features:
            head.dense.weight.copy_(torch.eye(head.dense.in_features))
