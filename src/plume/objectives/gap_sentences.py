"""Gap sentences (PEGASUS, arXiv:1912.08777 §3.1): the sentences that say most of the rest are taken out, and the decoder writes them."""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.corrupt import Corrupt
from plume.noise.decoder_target import TheSpans
from plume.noise.infilling import OneMask
from plume.noise.key_sentences import KeySentences
from plume.noise.noise import Noise
from plume.noise.select import Select
from plume.objectives._objective import Answers, Objective


def gap_sentences(
    *,
    select: Select = KeySentences(),
    corrupt: Corrupt = OneMask(),
    head: Head = TokenPrediction(transform=False, bias=False),
    weight: float = 1.0,
) -> Objective:
    """The sentences that say most of the rest, written by the decoder (PEGASUS, arXiv:1912.08777 §3.1)."""
    return Objective(
        name="gap_sentences",
        paper="arXiv:1912.08777",
        answers=Answers.NOISE,
        noise=Noise(select=select, corrupt=corrupt, target=TheSpans(), order=Order.CAUSAL),
        head=head,
        weight=weight,
    )
