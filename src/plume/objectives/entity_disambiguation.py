"""Entity disambiguation (KnowBERT, arXiv:1909.04164 §3.3): what does a name mean here, of all that it may mean?"""

from __future__ import annotations

from plume.heads.entity_disambiguation import EntityDisambiguation
from plume.heads.head import Head
from plume.noise.links import InPlaceWithForms
from plume.noise.noise import Noise
from plume.objectives._objective import Answers, Objective


def entity_disambiguation(*, head: Head = EntityDisambiguation(), weight: float = 0.2) -> Objective:
    """Rows of their own, in which nothing is hidden; the weight is how often they come."""
    return Objective(
        name="entity_disambiguation",
        paper="arXiv:1909.04164",
        answers=Answers.NOISE,
        noise=Noise(target=InPlaceWithForms()),
        asks="meanings",
        head=head,
        weight=weight,
    )
