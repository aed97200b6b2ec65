"""GLM's sentence-level objective (arXiv:2103.10360 §2.1): whole sentences are cut out and written anew, for tasks whose answer is a sentence."""

from __future__ import annotations

from plume.core.part import replace
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.blanks import SentenceBlanks
from plume.noise.select import Select
from plume.objectives._objective import Objective
from plume.objectives.blank_infilling import blank_infilling


def sentence_infilling(
    *,
    select: Select = SentenceBlanks(),
    head: Head = TokenPrediction(transform=False, bias=False),
    head_of: str | None = None,
    weight: float = 1.0,
) -> Objective:
    """Whole sentences, written anew behind the text (GLM, arXiv:2103.10360 §2.1)."""
    return replace(blank_infilling(select=select, head=head, weight=weight), name="sentence_infilling", head_of=head_of)
