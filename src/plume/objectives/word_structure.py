"""The word structural objective (StructBERT, arXiv:1908.04577 §2.2): put shuffled tokens back in their places."""

from __future__ import annotations

from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.objectives._objective import Answers, Objective


def word_structure(*, head: Head = TokenPrediction(), weight: float = 1.0) -> Objective:
    """Answered by the head of masked_lm, which predicts the hidden tokens of the same rows."""
    return Objective(
        name="word_structure",
        paper="arXiv:1908.04577",
        answers=Answers.NOISE,
        asks="moved",
        beside="masked_lm",
        head_of="masked_lm",
        head=head,
        weight=weight,
    )
