"""Span corruption (T5, arXiv:1910.10683 §3.1.4): a sentinel stands for each span, and the decoder writes the spans after their sentinels."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.noise import Noise
from plume.noise.select import Select
from plume.noise.sentinels import Sentinels, SpansAfterSentinels
from plume.noise.spans import MeanSpans
from plume.objectives._objective import Answers, Objective


def span_corruption(
    *, select: Select = MeanSpans(), head: Head = TokenPrediction(transform=False, bias=False, scaled=True), weight: float = 1.0
) -> Objective:
    """Spans that sentinels stand for, written by the decoder (T5, arXiv:1910.10683 §3.1.4)."""
    return Objective(
        name="span_corruption",
        paper="arXiv:1910.10683",
        answers=Answers.NOISE,
        noise=Noise(select=select, corrupt=Sentinels(), target=SpansAfterSentinels(), order=Order.CAUSAL),
        head=head,
        weight=weight,
    )
