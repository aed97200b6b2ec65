"""Objective: what is hidden, who predicts it, and how much it weighs."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from plume.core.part import Part
from plume.data.layout import PairLabel
from plume.heads.head import Head
from plume.noise.noise import Noise


class Answers(enum.StrEnum):
    """Where the right answers come from: the noise, the layout's pair label, or comparing a generator's samples with the text."""

    NOISE = "noise"
    LAYOUT = "layout"
    GENERATOR = "generator"


@dataclass(frozen=True, kw_only=True)
class Objective(Part):
    name: str
    paper: str
    head: Head
    answers: Answers
    noise: Noise | None = None
    pair_label: PairLabel | None = None  # what a sentence objective asks of the layout
    weight: float = 1.0
