"""Entity prediction (Entities as Experts, arXiv:2004.07202 §2.3): the entity of each mention, by what the last block makes of its ends."""

from __future__ import annotations

from plume.heads.entity_prediction import EntityPrediction
from plume.heads.head import Head
from plume.objectives._objective import Answers, Objective


def entity_prediction(*, head: Head = EntityPrediction(), weight: float = 1.0) -> Objective:
    """Of every mention, hidden or not, behind the last block (EaE, arXiv:2004.07202 §2.3)."""
    return Objective(
        name="entity_prediction",
        paper="arXiv:2004.07202",
        answers=Answers.NOISE,
        asks="mentions",
        beside="masked_lm",
        head=head,
        weight=weight,
    )
