"""Continuation (PALM, arXiv:2004.07159 §2.2): the encoder reads the first part of a text, the decoder goes on with it."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.copying import Copying
from plume.heads.head import Head
from plume.noise.decoder_target import Continuation
from plume.noise.noise import Noise
from plume.objectives._objective import Answers, Objective


def continuation(*, share: float = 0.8, head: Head = Copying(), weight: float = 1.0, during: tuple[float, float] = (0.0, 1.0)) -> Objective:
    """`share` of the text is read, the rest is written."""
    return Objective(
        name="continuation",
        paper="arXiv:2004.07159",
        answers=Answers.NOISE,
        noise=Noise(target=Continuation(share=share), order=Order.CAUSAL),
        head=head,
        weight=weight,
        during=during,
    )
