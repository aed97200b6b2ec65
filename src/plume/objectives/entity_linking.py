"""Entity linking (Entities as Experts, arXiv:2004.07202 §2.3): the memory is to give each mention the entity that it is linked to."""

from __future__ import annotations

from plume.heads.entity_prediction import EntityLinking
from plume.heads.head import Head
from plume.objectives._objective import Answers, Objective


def entity_linking(*, head: Head = EntityLinking(), weight: float = 1.0) -> Objective:
    """Of every mention, by the memory between the blocks (EaE, arXiv:2004.07202 §2.3)."""
    return Objective(
        name="entity_linking",
        paper="arXiv:2004.07202",
        answers=Answers.NOISE,
        asks="mentions",
        beside="masked_lm",
        head=head,
        weight=weight,
    )
