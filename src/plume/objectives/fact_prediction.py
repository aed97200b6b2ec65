"""Fact prediction (Facts as Experts, arXiv:2007.00849 §3): the entity of each hidden mention, by its context and by the facts that it asks."""

from __future__ import annotations

from plume.heads.fact_prediction import FactPrediction
from plume.heads.head import Head
from plume.objectives._objective import Answers, Objective


def fact_prediction(*, head: Head = FactPrediction(), weight: float = 1.0) -> Objective:
    """Of every hidden mention, from its context and a memory of facts (FaE, arXiv:2007.00849 §3)."""
    return Objective(
        name="fact_prediction",
        paper="arXiv:2007.00849",
        answers=Answers.NOISE,
        asks="hidden_mentions",
        beside="masked_lm",
        head=head,
        weight=weight,
    )
