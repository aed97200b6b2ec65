"""ScoreKind spans: where in the text an answer begins and ends (BERT §4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss, ScoreKind, precise
from plume.nn.dropout import Dropout


@dataclass(frozen=True, kw_only=True)
class AnswerSpan(Head):
    """Two scores a token. `Target.value` [B, 2] is the first and the last token; `Target.feature` [B, T] says which may be either."""

    dropout: float = 0.0

    def build(self, dims: Dims) -> AnswerSpanModule:
        return AnswerSpanModule(self, dims)


class AnswerSpanModule(HeadModule):
    """Two scores a token: it begins the answer, it ends it."""

    answer: ClassVar[ScoreKind] = ScoreKind.PLACE

    def __init__(self, part: AnswerSpan, dims: Dims) -> None:
        super().__init__()
        self.dropout = Dropout(part.dropout)
        self.output = nn.Linear(dims.width, 2)

    def logits(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.output(self.dropout(hidden))
        return scores

    def asked(self, encoded: Encoded, target: Target) -> Tensor:
        """[B, T, D] all of it."""
        states: Tensor = encoded.last
        return states

    def weighed(self, logits: Tensor, target: Target) -> Tensor:
        """[B, T, 2]"""
        assert target.feature is not None, "an answer stands in a part of the row"
        return precise(logits).masked_fill(~target.feature[..., None], -1e4)

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = self.scores(encoded, target)
        total = sum(
            (F.cross_entropy(scores[..., side], target.value[:, side], reduction="sum") for side in (0, 1)), start=scores.new_zeros(())
        )
        correct = (scores.detach().argmax(1) == target.value).all(-1).sum()
        return Loss(total=total / 2, count=len(target.value), correct=correct)
