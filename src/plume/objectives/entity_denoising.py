"""The denoising entity auto-encoder (ERNIE of Tsinghua, arXiv:1905.07129 §3.4): which entity is it, where its link was replaced or dropped?"""

from __future__ import annotations

from plume.heads.entity_denoising import EntityDenoising
from plume.heads.head import Head
from plume.objectives._objective import Answers, Objective


def entity_denoising(*, head: Head = EntityDenoising(), weight: float = 0.2) -> Objective:
    """Links that were replaced or dropped: these must be found by the text. The weight is their share of all links."""
    return Objective(
        name="entity_denoising",
        paper="arXiv:1905.07129",
        answers=Answers.NOISE,
        asks="noisy_links",
        beside="masked_lm",
        head=head,
        weight=weight,
    )
