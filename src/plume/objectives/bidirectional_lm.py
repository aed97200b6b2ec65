"""Bidirectional language modelling (ELMo, arXiv:1802.05365 §3.1): each token from those before it, and by a second network from those after it.

Rows that are read backwards stand in the batch in the order in which they are read, so that both directions predict what comes next.
"""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.sampled_softmax import SampledSoftmax
from plume.noise.corrupt import Keep
from plume.noise.noise import Noise
from plume.noise.select import Nothing
from plume.noise.target import NextToken
from plume.objectives._objective import Answers, Objective


def bidirectional_lm(*, head: Head = SampledSoftmax(), weight: float = 1.0) -> Objective:
    """It needs two directions: set assembly=TwoDirections() and layout=Streams(backward=True)."""
    return Objective(
        name="bidirectional_lm",
        paper="arXiv:1802.05365",
        answers=Answers.NOISE,
        noise=Noise(select=Nothing(), corrupt=Keep(), target=NextToken(), order=Order.CAUSAL),
        head=head,
        weight=weight,
    )
