"""Permutation language modelling (XLNet, arXiv:1906.08237 §2.2–2.3): predict one token in six, in a random order, by a query stream."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.corrupt import Keep
from plume.noise.noise import Noise
from plume.noise.permuted import NGramsInContext, Permuted
from plume.noise.select import Select
from plume.noise.target import TargetRule
from plume.objectives._objective import Answers, Objective


def permuted_lm(
    *,
    select: Select = NGramsInContext(),
    target: TargetRule = Permuted(blocks=2),
    head: Head = TokenPrediction(transform=False),
    weight: float = 1.0,
) -> Objective:
    """One token in six, in a random order, by a query stream (XLNet, arXiv:1906.08237 §2.2–2.3)."""
    return Objective(
        name="permuted_lm",
        paper="arXiv:1906.08237",
        answers=Answers.NOISE,
        noise=Noise(select=select, corrupt=Keep(), target=target, order=Order.RANKED),
        head=head,
        weight=weight,
    )
