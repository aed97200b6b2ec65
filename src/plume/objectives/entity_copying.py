"""The other part of the denoising entity auto-encoder (ERNIE of Tsinghua, arXiv:1905.07129 §3.4): links that are shown as they are."""

from __future__ import annotations

from plume.heads.entity_denoising import EntityDenoising
from plume.heads.head import Head
from plume.objectives._objective import Answers, Objective


def entity_copying(*, head: Head = EntityDenoising(), weight: float = 0.8) -> Objective:
    """Answered by the head of entity_denoising. Its answers stand in the input, so its figures are kept apart."""
    return Objective(
        name="entity_copying",
        paper="arXiv:1905.07129",
        answers=Answers.NOISE,
        asks="kept_links",
        beside="masked_lm",
        head_of="entity_denoising",
        head=head,
        weight=weight,
    )
