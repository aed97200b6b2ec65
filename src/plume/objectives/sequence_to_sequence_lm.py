"""UniLM's sequence-to-sequence LM (arXiv:1905.03197 §2.3): of two texts that follow each other the first sees itself, the second also what
stands before it; tokens of both are hidden."""

from __future__ import annotations

from plume.core.batch import Order
from plume.data.layouts.adjacent import AdjacentTexts
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.select import Select
from plume.noise.skip_grams import SkipGrams
from plume.objectives._objective import Objective
from plume.objectives._unilm import hidden_in_order


def sequence_to_sequence_lm(
    *,
    select: Select = SkipGrams(closing=True),
    segments: tuple[int, ...] = (),
    head: Head = TokenPrediction(),
    head_of: str | None = None,
    weight: float = 1.0,
) -> Objective:
    """Hidden tokens of a first text that sees itself and of a second that also sees what stands before."""
    return hidden_in_order(
        "sequence_to_sequence_lm", order=Order.PREFIX, layout=AdjacentTexts(), select=select, segments=segments, head=head, head_of=head_of,
        weight=weight,
    )  # fmt: skip
