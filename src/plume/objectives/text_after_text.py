"""A second text after a first that is read as a whole (SimBERT, github.com/ZhuiyiTechnology/simbert): next tokens, nothing hidden."""

from __future__ import annotations

from plume.core.batch import Order
from plume.data.layouts.adjacent import AdjacentTexts
from plume.heads.head import Head
from plume.heads.token_prediction import TokenPrediction
from plume.noise.noise import Noise
from plume.noise.target import NextOfSecondText
from plume.objectives._objective import Answers, Objective


def text_after_text(*, head: Head = TokenPrediction(), head_of: str | None = None, weight: float = 1.0) -> Objective:
    """Each token of the second text from those before it and from all of the first."""
    return Objective(
        name="text_after_text",
        paper="github.com/ZhuiyiTechnology/simbert",
        answers=Answers.NOISE,
        noise=Noise(target=NextOfSecondText(), order=Order.PREFIX),
        layout=AdjacentTexts(),
        head=head,
        head_of=head_of,
        weight=weight,
    )
