"""How likely the words of each label are where the blank is, by the head that the model was pre-trained with."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from plume.core.batch import Encoded, Target
from plume.heads.head import HeadModule, Loss, precise

_NEVER = -1e4  # score of a label that an example does not have


class LabelScores(HeadModule):
    """[G, L] the mean log-probability of a label's tokens, and of its words.

    The mean, since a sum would call long words unlikely for being long. Where every label is one token, a softmax over the labels is PET's
    (arXiv:2001.07676 §3.1): what all of them lack cancels out.
    """

    def __init__(self, under: HeadModule) -> None:
        super().__init__()
        self.under = under

    def logits(self, hidden: Tensor) -> Tensor:
        return self.under.logits(hidden)

    def flops(self, predictions: int) -> int:
        return self.under.flops(predictions)

    def weighed(self, logits: Tensor, target: Target) -> Tensor:
        assert target.context is not None and target.feature is not None, "prompted questions say what is read"
        place, token, group, label = target.context.unbind(1)
        groups, labels = target.value.shape
        said = precise(logits).log_softmax(-1)
        weight = 1 / target.feature.to(said.dtype)
        cell = group * labels + label
        nothing = said.new_zeros(groups * labels)
        total = nothing.index_add(0, cell, said[place, token] * weight)
        there = nothing.index_add(0, cell, weight) > 0
        return total.masked_fill(~there, _NEVER).view(groups, labels)

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = self.scores(encoded, target)
        total = F.cross_entropy(scores, target.value.to(scores.dtype), reduction="sum")
        correct = None if torch.is_grad_enabled() else (scores.argmax(-1) == target.value.argmax(-1)).sum()
        return Loss(total=total, count=len(target.value), correct=correct)
