"""Where an answer begins and ends, and which tokens matter for the question: a reader and a judge on one network (CogLTX §3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.answer_span import AnswerSpan, AnswerSpanModule
from plume.heads.head import Dims, Loss, precise

OUTSIDE, APART, RELEVANT, NULL = range(
    4
)  # what a token is told by `Target.feature`: no text, text that does not matter, text that does, "no answer"
UNREAD = -100  # in place of the answer's columns: this row teaches the judge alone


@dataclass(frozen=True, kw_only=True)
class JudgedSpan(AnswerSpan):
    """A third score a token beside `AnswerSpan`'s: does its block matter? `judges` weighs that loss, which is a mean over the row's text."""

    judges: float = 1.0

    def build(self, dims: Dims) -> JudgedSpanModule:
        return JudgedSpanModule(self, dims)


class JudgedSpanModule(AnswerSpanModule):
    """`Target.feature` [B, T] says of each token which of the four it is; an answer stands where it is not OUTSIDE."""

    def __init__(self, part: JudgedSpan, dims: Dims) -> None:
        super().__init__(part, dims)
        self.part = part
        self.output = nn.Linear(dims.width, 3)

    def weighed(self, logits: Tensor, target: Target) -> Tensor:
        """[B, T, 3]"""
        assert target.feature is not None, "an answer stands in a part of the row"
        return precise(logits).masked_fill((target.feature == OUTSIDE)[..., None], -1e4)

    def soft(self, logits: Tensor, target: Target) -> Tensor:
        """A student learns the places; what the judge says is no place."""
        return self.weighed(logits, target)[..., :2]

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        scores = self.scores(encoded, target)
        assert target.feature is not None
        read = target.value[:, 0] != UNREAD
        place = sum(
            (F.cross_entropy(scores[..., side], target.value[:, side], reduction="sum", ignore_index=UNREAD) for side in (0, 1)),
            start=scores.new_zeros(()),
        )
        text = (target.feature == APART) | (target.feature == RELEVANT)
        each = F.binary_cross_entropy_with_logits(scores[..., 2], (target.feature == RELEVANT).to(scores.dtype), reduction="none")
        judged = ((each * text).sum(1) / text.sum(1).clamp(min=1)).sum()
        correct = ((scores[..., :2].detach().argmax(1) == target.value).all(-1) & read).sum()
        return Loss(total=place / 2 + self.part.judges * judged, count=len(target.value), correct=correct)
