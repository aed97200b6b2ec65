"""Replaced-token detection (ELECTRA, arXiv:2003.10555 §2): which tokens did a small generator write?

The masked_lm objective beside it trains the generator; the loss runs over all tokens, and weighs 50 to the generator's 1.
"""

from __future__ import annotations

from plume.heads.token_classification import BinaryTokenClassification
from plume.objectives._objective import Answers, Objective


def replaced_token_detection(*, weight: float = 50.0) -> Objective:
    """Which tokens did a small generator write? (ELECTRA, arXiv:2003.10555 §2)"""
    return Objective(
        name="replaced_token_detection",
        paper="arXiv:2003.10555",
        answers=Answers.GENERATOR,
        head=BinaryTokenClassification(),
        weight=weight,
    )
