"""Next-sentence prediction (BERT, arXiv:1810.04805 §3.1): does B follow A, or is it from elsewhere?"""

from __future__ import annotations

from plume.data.layouts.layout import PairLabel
from plume.heads.sentence_classification import SentenceClassification
from plume.objectives._objective import Answers, Objective


def next_sentence(*, weight: float = 1.0, beside: str | None = None) -> Objective:
    """Does B follow A, or is it from elsewhere? (BERT, arXiv:1810.04805 §3.1)"""
    return Objective(
        name="next_sentence",
        paper="arXiv:1810.04805",
        answers=Answers.LAYOUT,
        pair_label=PairLabel.RANDOM_NEXT,
        head=SentenceClassification(),
        beside=beside,
        weight=weight,
    )
