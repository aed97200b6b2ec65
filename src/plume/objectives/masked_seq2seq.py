"""Masked sequence to sequence (MASS, arXiv:1905.02450 §3.2): half of the text is masked in one span, and the decoder writes only that."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.corrupt import Corrupt, Mask
from plume.noise.decoder_target import TheSpan
from plume.noise.noise import Noise
from plume.noise.select import Select
from plume.noise.spans import OneSpan
from plume.objectives._objective import Answers, Objective


def masked_seq2seq(
    *,
    select: Select = OneSpan(closing=True),
    corrupt: Corrupt = Mask(),
    head: Head = TokenPrediction(transform=False),
    weight: float = 1.0,
) -> Objective:
    """One span of half the text, written by the decoder (MASS, arXiv:1905.02450 §3.2)."""
    return Objective(
        name="masked_seq2seq",
        paper="arXiv:1905.02450",
        answers=Answers.NOISE,
        noise=Noise(select=select, corrupt=corrupt, target=TheSpan(), order=Order.CAUSAL),
        head=head,
        weight=weight,
    )
