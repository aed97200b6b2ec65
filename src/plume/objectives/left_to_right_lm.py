"""UniLM's left-to-right LM (arXiv:1905.03197 §2.3): hidden tokens of one text, each from what stands before it."""

from __future__ import annotations

from plume.core.batch import Order
from plume.data.layouts.layout import FullSentences
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.select import Select
from plume.noise.skip_grams import SkipGrams
from plume.objectives._objective import Objective
from plume.objectives._unilm import hidden_in_order


def left_to_right_lm(
    *,
    select: Select = SkipGrams(closing=True),
    segments: tuple[int, ...] = (),
    head: Head = TokenPrediction(),
    head_of: str | None = None,
    weight: float = 1.0,
) -> Objective:
    """Each hidden token from what stands before it."""
    return hidden_in_order(
        "left_to_right_lm", order=Order.CAUSAL, layout=FullSentences(across=False), select=select, segments=segments, head=head, head_of=head_of,
        weight=weight,
    )  # fmt: skip
