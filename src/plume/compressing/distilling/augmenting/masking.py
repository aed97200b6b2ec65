"""Masking (Tang et al., arXiv:1903.12136 §3.3): words that nobody knows in the place of some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from plume.compressing.distilling.augmenting.augmentation import Altering, WordByWord
from plume.compressing.distilling.augmenting.words import CutText

# A sign that no vocabulary has: the unknown token for those that have one. A text cannot spell a mask token, which not every student has anyway.
BLANK = "⬚"


@dataclass(frozen=True, kw_only=True)
class Masking(WordByWord):
    """A word becomes unknown."""

    def prepared(self, cuts: Sequence[CutText], teacher: Path | None) -> Altering:
        return _Blanks(self.rate)


class _Blanks(Altering):
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def change(self, cut: CutText, generator: np.random.Generator) -> CutText:
        hidden = generator.random(len(cut.words)) < self.rate
        return replace(cut, words=tuple(BLANK if gone else word for word, gone in zip(cut.words, hidden.tolist(), strict=True)))
