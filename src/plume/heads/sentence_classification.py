"""Sentence classification: next sentence, sentence order, emoji, and every task that labels a text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss, ScoreKind, at, precise
from plume.nn.activation import Activation
from plume.nn.dropout import Dropout


@dataclass(frozen=True, kw_only=True)
class SentenceClassification(Head):
    """A linear layer on one state of the text: through the model's pooler where it has one, or through a layer of its own (`hidden`)."""

    classes: int = 2
    dropout: float = 0.0
    hidden: Activation | None = None  # RoBERTa, BART and XLNet: tanh; ELECTRA: gelu
    bias: bool = True  # GPT-2 has none

    reads_text: ClassVar[bool] = True

    def over_pooled(self) -> SentenceClassification:
        """Without a layer of its own, which is meant for one token's state."""
        return replace(self, hidden=None)

    def build(self, dims: Dims) -> SentenceClassificationModule:
        return SentenceClassificationModule(self, dims)


class SentenceClassificationModule(HeadModule):
    """`pooler` is the model's own, `dense` a layer in its stead."""

    def __init__(self, part: SentenceClassification, dims: Dims) -> None:
        super().__init__()
        self.part = part
        self.pooler = dims.pooler if part.hidden is None else None
        self.dense = nn.Linear(dims.width, dims.width) if part.hidden is not None else None
        self.dropout = Dropout(part.dropout)
        self.output = nn.Linear(dims.width, part.classes, bias=part.bias)

    def logits(self, hidden: Tensor) -> Tensor:
        if self.dense is not None and self.part.hidden is not None:
            pooled = self.part.hidden(self.dense(self.dropout(hidden)))
        else:
            pooled = hidden if self.pooler is None else self.pooler(hidden)
        scores: Tensor = self.output(self.dropout(pooled))
        return scores

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = self.logits(at(encoded, target))
        total = F.cross_entropy(precise(scores), target.value, reduction="sum")
        classes = torch.bincount(target.value, minlength=scores.shape[-1])
        return Loss(total=total, count=len(target.value), correct=(scores.detach().argmax(-1) == target.value).sum(), classes=classes)


@dataclass(frozen=True, kw_only=True)
class MultiLabelClassification(SentenceClassification):
    """Each class is there or not, whatever the others are; targets are [N, classes] of 0 and 1."""

    def build(self, dims: Dims) -> MultiLabelModule:
        return MultiLabelModule(self, dims)


class MultiLabelModule(SentenceClassificationModule):
    """A sigmoid for each class."""

    answer: ClassVar[ScoreKind] = ScoreKind.EACH

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = precise(self.logits(at(encoded, target)))
        total = F.binary_cross_entropy_with_logits(scores, target.value.to(scores.dtype), reduction="sum") / self.part.classes
        right = ((scores.detach() > 0) == target.value.bool()).all(-1).sum()
        return Loss(total=total, count=len(target.value), correct=right)


@dataclass(frozen=True, kw_only=True)
class SentenceRegression(SentenceClassification):
    """One number a text, by squared error."""

    classes: int = 1

    def build(self, dims: Dims) -> SentenceRegressionModule:
        return SentenceRegressionModule(self, dims)


class SentenceRegressionModule(SentenceClassificationModule):
    """Its one output is the number."""

    answer: ClassVar[ScoreKind] = ScoreKind.NUMBER

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = precise(self.logits(at(encoded, target))).squeeze(-1)
        return Loss(total=F.mse_loss(scores, target.value.to(scores.dtype), reduction="sum"), count=len(target.value))


@dataclass(frozen=True, kw_only=True)
class Choice(SentenceClassification):
    """Which of several texts is the right one: one score each, a softmax over those of a question (GPT §3.3, BERT §4.4).

    `Target.context` [questions, choices] says which of the rows belong to a question; -1 where it has fewer choices than others.
    """

    classes: int = 1

    def build(self, dims: Dims) -> ChoiceModule:
        return ChoiceModule(self, dims)


class ChoiceModule(SentenceClassificationModule):
    """One score a row, compared within a question."""

    def weighed(self, logits: Tensor, target: Target) -> Tensor:
        """[questions, choices]"""
        assert target.context is not None, "a choice is among rows"
        flat = precise(logits).squeeze(-1)
        return flat[target.context.clamp(min=0)].masked_fill(target.context < 0, float("-inf"))

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = self.scores(encoded, target)
        total = F.cross_entropy(scores, target.value, reduction="sum")
        return Loss(total=total, count=len(target.value), correct=(scores.detach().argmax(-1) == target.value).sum())
