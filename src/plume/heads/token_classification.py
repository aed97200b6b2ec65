"""Token classification with two classes: replaced or original (ELECTRA §2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss, at
from plume.nn.activation import Activation


@dataclass(frozen=True, kw_only=True)
class BinaryTokenClassification(Head):
    """Dense, activation, one score a token."""

    activation: Activation = Activation.GELU

    def build(self, dims: Dims) -> BinaryTokenClassificationModule:
        return BinaryTokenClassificationModule(self, dims)


class BinaryTokenClassificationModule(HeadModule):
    """A dense layer, then one score."""

    def __init__(self, part: BinaryTokenClassification, dims: Dims) -> None:
        super().__init__()
        self.activation = part.activation
        self.dense = nn.Linear(dims.width, dims.width)
        self.output = nn.Linear(dims.width, 1)

    def logits(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.output(self.activation(self.dense(hidden)))
        return scores.squeeze(-1)

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = self.logits(at(encoded, target))
        total = F.binary_cross_entropy_with_logits(scores, target.value.to(scores.dtype), reduction="sum")
        correct = ((scores.detach() > 0) == target.value.bool()).sum()
        return Loss(total=total, count=len(target.value), correct=correct, classes=torch.bincount(target.value, minlength=2))
