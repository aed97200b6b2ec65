"""Mention detection (Entities as Experts, arXiv:2004.07202 §2.3): where mentions begin and end, so that texts without links can be read."""

from __future__ import annotations

from plume.heads.entity_prediction import MentionDetection
from plume.heads.head import Head
from plume.objectives._objective import Answers, Objective


def mention_detection(*, head: Head = MentionDetection(), weight: float = 1.0) -> Objective:
    """Of every token: outside of mentions, first of one, inside (EaE, arXiv:2004.07202 §2.3)."""
    return Objective(
        name="mention_detection",
        paper="arXiv:2004.07202",
        answers=Answers.NOISE,
        asks="mention_tags",
        beside="masked_lm",
        head=head,
        weight=weight,
    )
