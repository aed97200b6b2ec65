"""Causal language modelling (GPT): predict each token from those before it."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.corrupt import Keep
from plume.noise.noise import Noise
from plume.noise.select import Nothing
from plume.noise.target import NextToken
from plume.objectives._objective import Answers, Objective


def causal_lm(*, head: Head = TokenPrediction(transform=False, bias=False), weight: float = 1.0) -> Objective:
    """Each token from those before it (GPT)."""
    return Objective(
        name="causal_lm",
        paper="Radford et al. 2018",
        answers=Answers.NOISE,
        noise=Noise(select=Nothing(), corrupt=Keep(), target=NextToken(), order=Order.CAUSAL),
        head=head,
        weight=weight,
    )
