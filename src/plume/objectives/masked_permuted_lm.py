"""Masked and permuted language modelling (MPNet, arXiv:2004.09297 §2.2): permuted, but every prediction knows where all the others stand."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.corrupt import Corrupt, Mask
from plume.noise.noise import Noise
from plume.noise.permuted import MaskedPermuted
from plume.noise.select import Select, WholeWords
from plume.objectives._objective import Answers, Objective


def masked_permuted_lm(
    *, select: Select = WholeWords(), corrupt: Corrupt = Mask(), head: Head = TokenPrediction(), weight: float = 1.0
) -> Objective:
    """Tokens in a random order, each knowing where all others stand (MPNet, arXiv:2004.09297 §2.2)."""
    return Objective(
        name="masked_permuted_lm",
        paper="arXiv:2004.09297",
        answers=Answers.NOISE,
        noise=Noise(select=select, corrupt=corrupt, target=MaskedPermuted(), order=Order.RANKED),
        head=head,
        weight=weight,
    )
