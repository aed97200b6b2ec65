"""Autoregressive blank infilling (GLM, arXiv:2103.10360 §2.1): short spans are cut out of the text and written behind it, in a random order."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.appended import AppendedSpans
from plume.noise.blanks import PoissonBlanks
from plume.noise.infilling import OneMask
from plume.noise.noise import Noise
from plume.noise.select import Select
from plume.objectives._objective import Answers, Objective


def blank_infilling(
    *, select: Select = PoissonBlanks(), head: Head = TokenPrediction(transform=False, bias=False), weight: float = 1.0
) -> Objective:
    """Short spans, written behind the text in a random order (GLM, arXiv:2103.10360 §2.1)."""
    return Objective(
        name="blank_infilling",
        paper="arXiv:2103.10360",
        answers=Answers.NOISE,
        noise=Noise(select=select, corrupt=OneMask(), target=AppendedSpans(), order=Order.RANKED),
        head=head,
        weight=weight,
    )
