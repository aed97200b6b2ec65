"""Denoising (BART, arXiv:1910.13461 §2.2): the encoder reads a spoilt text, the decoder writes it as it was.

Each of the paper's five noises is an objective of its own beside this one, and they can be composed here: text_infilling, token_deletion,
token_masking, sentence_permutation, document_rotation.
"""

from __future__ import annotations

from plume.core.batch import Order
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.corrupt import Corrupt
from plume.noise.decoder_target import WholeText
from plume.noise.infilling import OneMask
from plume.noise.noise import Noise
from plume.noise.rearrange import PermutedSentences, Rearrange
from plume.noise.select import Select
from plume.noise.spans import PoissonSpans
from plume.objectives._objective import Answers, Objective

HEAD = TokenPrediction(transform=False, bias=False)


def denoising(
    *,
    rearrange: Rearrange = PermutedSentences(),
    select: Select = PoissonSpans(),
    corrupt: Corrupt = OneMask(),
    head: Head = HEAD,
    weight: float = 1.0,
    name: str = "denoising",
) -> Objective:
    """The mixture of BART's final model (§5): all sentences permuted, 30% of the words in spans that leave one mask each.

    >>> denoising().noise.select.share
    0.3
    """
    return Objective(
        name=name,
        paper="arXiv:1910.13461",
        answers=Answers.NOISE,
        noise=Noise(rearrange=rearrange, select=select, corrupt=corrupt, target=WholeText(), order=Order.CAUSAL),
        head=head,
        weight=weight,
    )
