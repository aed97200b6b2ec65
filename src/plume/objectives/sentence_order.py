"""Sentence-order prediction (ALBERT, arXiv:1909.11942 §3.1): were two neighbouring stretches swapped?"""

from __future__ import annotations

from plume.data.layouts.layout import PairLabel
from plume.heads.sentence_classification import SentenceClassification
from plume.objectives._objective import Answers, Objective


def sentence_order(*, dropout: float = 0.1, weight: float = 1.0) -> Objective:
    """Were two neighbouring stretches swapped? (ALBERT, arXiv:1909.11942 §3.1)"""
    return Objective(
        name="sentence_order",
        paper="arXiv:1909.11942",
        answers=Answers.LAYOUT,
        pair_label=PairLabel.SWAPPED,
        head=SentenceClassification(dropout=dropout),
        weight=weight,
    )
