"""Backward language modelling (ELMo, arXiv:1802.05365 §3.1): causal LM from right to left; predict each token from those after it."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.corrupt import Keep
from plume.noise.noise import Noise
from plume.noise.select import Nothing
from plume.noise.target import PreviousToken
from plume.objectives._objective import Answers, Objective


def backward_lm(*, head: Head = TokenPrediction(transform=False, bias=False), weight: float = 1.0) -> Objective:
    """Each token from those after it (ELMo, arXiv:1802.05365 §3.1)."""
    return Objective(
        name="backward_lm",
        paper="arXiv:1802.05365",
        answers=Answers.NOISE,
        noise=Noise(select=Nothing(), corrupt=Keep(), target=PreviousToken(), order=Order.REVERSED),
        head=head,
        weight=weight,
    )
