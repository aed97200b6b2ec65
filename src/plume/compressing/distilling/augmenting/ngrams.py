"""A stretch of a text in its place (Tang et al., arXiv:1903.12136 §3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plume.compressing.distilling.augmenting.augmentation import Altering, Augmentation
from plume.compressing.distilling.augmenting.words import CutText, cut_at
from plume.core.errors import PlumeError

_MOST = 5  # words of a stretch, as in the paper


@dataclass(frozen=True, kw_only=True)
class TextNGrams(Augmentation):
    """With probability `p` a text becomes one to five of its words that follow each other; else it stays as it is, and is left to other ways."""

    p: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.p <= 1:
            raise PlumeError(f"NGrams: p is a probability above 0, not {self.p}.")

    def prepared(self, cuts: Sequence[CutText], teacher: Path | None) -> Altering:
        return _Stretches(self.p)


class _Stretches(Altering):
    def __init__(self, p: float) -> None:
        self.p = p

    def change(self, cut: CutText, generator: np.random.Generator) -> CutText:
        taken, size, place = generator.random() < self.p, int(generator.integers(1, _MOST + 1)), generator.random()
        if not taken or size >= len(cut.words):
            return cut
        first = int(place * (len(cut.words) - size + 1))
        spans = cut.spans[first : first + size]
        begin, end = spans[0][0], spans[-1][1]
        return cut_at(cut.text[begin:end], [(one - begin, other - begin) for one, other in spans])
