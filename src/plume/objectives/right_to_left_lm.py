"""UniLM's right-to-left LM (arXiv:1905.03197 §2.3): hidden tokens of one text, each from what stands after it."""

from __future__ import annotations

from plume.core.batch import Order
from plume.core.part import replace
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.noise import Noise
from plume.noise.select import Select
from plume.noise.skip_grams import SkipGrams
from plume.objectives._objective import Objective
from plume.objectives.left_to_right_lm import left_to_right_lm


def right_to_left_lm(
    *,
    select: Select = SkipGrams(),
    segments: tuple[int, ...] = (),
    head: Head = TokenPrediction(),
    head_of: str | None = None,
    weight: float = 1.0,
) -> Objective:
    mirrored = left_to_right_lm(select=select, segments=segments, head=head, head_of=head_of, weight=weight)
    assert isinstance(mirrored.noise, Noise), "a left-to-right LM hides tokens"
    return replace(mirrored, name="right_to_left_lm", noise=replace(mirrored.noise, order=Order.REVERSED))
