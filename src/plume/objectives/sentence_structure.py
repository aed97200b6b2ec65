"""The sentence structural objective (StructBERT, arXiv:1908.04577 §2.3): does B follow A, precede it, or come from elsewhere?"""

from __future__ import annotations

from plume.data.layouts.layout import PairLabel
from plume.heads.sentence_classification import SentenceClassification
from plume.objectives._objective import Answers, Objective


def sentence_structure(*, weight: float = 1.0) -> Objective:
    """Does B follow A, precede it, or come from elsewhere? (StructBERT, arXiv:1908.04577 §2.3)"""
    return Objective(
        name="sentence_structure",
        paper="arXiv:1908.04577",
        answers=Answers.LAYOUT,
        pair_label=PairLabel.THREE_WAY,
        head=SentenceClassification(classes=3),
        weight=weight,
    )
