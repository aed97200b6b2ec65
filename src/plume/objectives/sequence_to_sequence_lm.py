"""UniLM's sequence-to-sequence LM (arXiv:1905.03197 §2.3): of two texts that follow each other the first sees itself, the second also what
stands before it; tokens of both are hidden."""

from __future__ import annotations

from plume.core.batch import Order
from plume.core.part import replace
from plume.data.layouts.adjacent import AdjacentTexts
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.noise import Noise
from plume.noise.select import Select
from plume.noise.skip_grams import SkipGrams
from plume.objectives._objective import Objective
from plume.objectives.masked_lm import masked_lm


def sequence_to_sequence_lm(
    *,
    select: Select = SkipGrams(closing=True),
    segments: tuple[int, ...] = (),
    head: Head = TokenPrediction(),
    head_of: str | None = None,
    weight: float = 1.0,
) -> Objective:
    hidden = masked_lm(head=head, weight=weight)
    assert isinstance(hidden.noise, Noise), "masked_lm hides tokens"
    return replace(
        hidden,
        name="sequence_to_sequence_lm",
        paper="arXiv:1905.03197",
        noise=replace(hidden.noise, select=select, order=Order.PREFIX, segments=segments),
        layout=AdjacentTexts(),
        head_of=head_of,
    )
