"""GLM's document-level objective (arXiv:2103.10360 §2.1): one long span is cut out and written anew, to learn to generate long text."""

from __future__ import annotations

from plume.core.part import replace
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.blanks import LongBlank
from plume.noise.select import Select
from plume.objectives._objective import Objective
from plume.objectives.blank_infilling import blank_infilling


def document_infilling(
    *,
    select: Select = LongBlank(),
    head: Head = TokenPrediction(transform=False, bias=False),
    head_of: str | None = None,
    weight: float = 1.0,
) -> Objective:
    """One long span, written anew behind the text (GLM, arXiv:2103.10360 §2.1)."""
    return replace(blank_infilling(select=select, head=head, weight=weight), name="document_infilling", head_of=head_of)
