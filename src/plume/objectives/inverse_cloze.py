"""Inverse cloze (arXiv:1906.00300 §4): which block was this sentence taken out of? A retriever's first lesson."""

from __future__ import annotations

from plume.data.layouts.inverse_cloze import InverseCloze
from plume.heads.own_text import OwnText
from plume.noise.apart import WHICH_TEXT, Apart
from plume.noise.noise import Noise
from plume.objectives._objective import Answers, Objective


def inverse_cloze(*, layout: InverseCloze = InverseCloze(), during: tuple[float, float] = (0.0, 1.0), weight: float = 1.0) -> Objective:
    """It needs documents of several sentences, and an assembly that retrieves."""
    return Objective(
        name="inverse_cloze",
        paper="arXiv:1906.00300",
        answers=Answers.BATCH,
        noise=Noise(target=Apart()),
        asks=WHICH_TEXT,
        head=OwnText(),
        layout=layout,
        during=during,
        weight=weight,
    )
