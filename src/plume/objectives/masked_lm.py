"""Masked language modelling (BERT, arXiv:1810.04805 §3.1): predict selected tokens from both sides."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.corrupt import Corrupt, Mask
from plume.noise.noise import Noise
from plume.noise.select import Select, Tokens
from plume.noise.target import InPlace, TargetRule
from plume.objectives._objective import Answers, Objective


def masked_lm(
    *,
    select: Select = Tokens(),
    corrupt: Corrupt = Mask(),
    target: TargetRule = InPlace(),
    head: Head = TokenPrediction(),
    weight: float = 1.0,
    duplicates: int = 0,
) -> Objective:
    """Selected tokens from both sides (BERT, arXiv:1810.04805 §3.1).

    >>> masked_lm(select=Tokens(rate=0.3)).noise.select.share
    0.3
    """
    return Objective(
        name="masked_lm",
        paper="arXiv:1810.04805",
        answers=Answers.NOISE,
        noise=Noise(select=select, corrupt=corrupt, target=target, order=Order.FULL, duplicates=duplicates),
        head=head,
        weight=weight,
    )
