"""Objective: what is hidden, who predicts it, and how much it weighs."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.data.layouts.layout import Layout, PairLabel
from plume.heads.head import Head
from plume.noise.noise import Noise


class Answers(enum.StrEnum):
    """Where the right answers come from: the noise, the layout's label, comparing a generator's samples with the text, or the batch's other rows."""

    NOISE = "noise"
    LAYOUT = "layout"
    GENERATOR = "generator"
    BATCH = "batch"


@dataclass(frozen=True, kw_only=True)
class Objective(Part):
    """An objective with `noise` makes batches of its own; one without reads those of the others (`beside` names which, None: all)."""

    name: str
    paper: str
    head: Head
    answers: Answers
    noise: Noise | None = None
    asks: str | None = None  # which of the noise's further questions it answers; None: the tokens that are hidden
    layout: Layout | None = None  # rows of its own; None: the recipe's
    pair_label: PairLabel | None = None  # what a sentence objective asks of the layout
    beside: str | None = None
    head_of: str | None = None  # it is answered by that objective's head, which must be the same part; None: a head of its own
    weight: float = 1.0  # of its loss; of objectives with noise of their own: how often their turn comes
    during: tuple[float, float] = (0.0, 1.0)  # the part of the run in which it is trained

    def __post_init__(self) -> None:
        if not 0 < self.weight < math.inf:
            raise PlumeError(f"A weight of {self.weight} for {self.name}: give a number above 0, or leave the objective out.")
        if not 0 <= self.during[0] < self.during[1] <= 1:
            raise PlumeError(f"{self.name} is trained during {self.during}: give two shares of the run, the first smaller.")

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        yield from self._shared_head_problems(recipe)
        yield from self.head.problems(recipe, name)

    def _shared_head_problems(self, recipe: Any) -> Iterator[str]:
        if self.head_of is None:
            return
        owner = next((one for one in recipe.objectives if one.name == self.head_of and one.head_of is None), None)
        if owner is None:
            yield f"{self.name} uses the head of {self.head_of}, and no objective of that name has one of its own."
        elif owner.head != self.head:
            yield f"{self.name} and {owner.name} share a head but declare two different ones: give both the same part."

    def needs(self) -> str:
        """What a recipe must have for it, in words."""
        if self.answers is Answers.LAYOUT:
            layout = "LabelledDocuments()" if self.pair_label is PairLabel.DOCUMENT else f"SentencePairs(label={self.pair_label})"
            return f"it needs rows labelled {self.pair_label}, read both ways: set layout={layout}, and have an objective that sees all"
        return f"it reads the batches of {self.beside or 'an objective with noise'}"
