"""Emoji prediction (DeepMoji, arXiv:1708.00524 §3): which emoji stood in this text?"""

from __future__ import annotations

from plume.data.layouts.labelled import LabelledDocuments
from plume.data.layouts.layout import PairLabel
from plume.heads.attention_classification import AttentionClassification
from plume.objectives._objective import Answers, Objective


def emoji_prediction(*, classes: int = 64, dropout: float = 0.0, weight: float = 1.0) -> Objective:
    """At most so many kinds of emoji; a corpus with fewer leaves the last classes empty. All are trained on alike often."""
    return Objective(
        name="emoji_prediction",
        paper="arXiv:1708.00524",
        answers=Answers.LAYOUT,
        pair_label=PairLabel.DOCUMENT,
        layout=LabelledDocuments(balanced=True),
        head=AttentionClassification(classes=classes, dropout=dropout),
        weight=weight,
    )
