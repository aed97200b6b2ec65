"""Sentence classification: next sentence, sentence order, and later every task that labels a text."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss, at
from plume.nn.dropout import Dropout


@dataclass(frozen=True, kw_only=True)
class SentenceClassification(Head):
    """A linear layer on the pooled first token."""

    classes: int = 2
    dropout: float = 0.0

    def build(self, dims: Dims) -> SentenceClassificationModule:
        return SentenceClassificationModule(self, dims)


class SentenceClassificationModule(HeadModule):
    def __init__(self, part: SentenceClassification, dims: Dims) -> None:
        super().__init__()
        self.pooler = dims.pooler
        self.dropout = Dropout(part.dropout)
        self.output = nn.Linear(dims.width, part.classes)

    def logits(self, hidden: Tensor) -> Tensor:
        pooled = hidden if self.pooler is None else self.pooler(hidden)
        scores: Tensor = self.output(self.dropout(pooled))
        return scores

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = self.logits(at(encoded, target))
        total = F.cross_entropy(scores.float() if scores.dtype.itemsize < 4 else scores, target.value, reduction="sum")
        classes = torch.bincount(target.value, minlength=scores.shape[-1])
        return Loss(total=total, count=len(target.value), correct=(scores.detach().argmax(-1) == target.value).sum(), classes=classes)
