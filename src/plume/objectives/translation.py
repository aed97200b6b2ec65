"""Translation (arXiv:1706.03762): the encoder reads one side of a pair, the decoder writes the other."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.decoder_target import SecondText
from plume.noise.noise import Noise
from plume.objectives._objective import Answers, Objective


def translation(*, head: Head = TokenPrediction(transform=False, bias=False, smoothing=0.1), weight: float = 1.0) -> Objective:
    """It needs a corpus of pairs: set layout=Translations()."""
    return Objective(
        name="translation",
        paper="arXiv:1706.03762",
        answers=Answers.NOISE,
        noise=Noise(target=SecondText(), order=Order.CAUSAL),
        head=head,
        weight=weight,
    )
