"""The following sentence (Skip-Thought, arXiv:1506.06726 §2): an encoder reads a sentence, a decoder writes the one after it."""

from __future__ import annotations

from plume.core.batch import Order
from plume.data.layouts.neighbours import Neighbours
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.decoder_target import SecondText
from plume.noise.noise import Noise
from plume.objectives._objective import Answers, Objective


def following_sentence(*, head: Head = TokenPrediction(transform=False, tied=False), weight: float = 1.0) -> Objective:
    """It needs documents of several sentences."""
    return Objective(
        name="following_sentence",
        paper="arXiv:1506.06726",
        answers=Answers.NOISE,
        noise=Noise(target=SecondText(), order=Order.CAUSAL),
        head=head,
        layout=Neighbours(),
        weight=weight,
    )
