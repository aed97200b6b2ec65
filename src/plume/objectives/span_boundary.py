"""The span boundary objective (SpanBERT, arXiv:1907.10529 §3.2): each token of a hidden span from the two tokens beside the span."""

from __future__ import annotations

from plume.heads.head import Head
from plume.heads.span_boundary import SpanBoundary
from plume.objectives._objective import Answers, Objective


def span_boundary(*, head: Head = SpanBoundary(), weight: float = 1.0) -> Objective:
    """Each token of a hidden span from the two beside the span (SpanBERT, arXiv:1907.10529 §3.2)."""
    return Objective(
        name="span_boundary",
        paper="arXiv:1907.10529",
        answers=Answers.NOISE,
        asks="ends",
        beside="masked_lm",
        head=head,
        weight=weight,
    )
