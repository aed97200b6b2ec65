"""Words that stand where this one may stand.

Tang et al. (arXiv:1903.12136 §3.3) take another word of the same part of speech. There is no tagger here for every language, so a word's place is
taken by one that was seen between the same two neighbours in the task's own texts: such words are of one kind more often than not (frequent
frames, Mintz 2003). Where a frame has had no other word, one that was seen after the same word.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from plume.compressing.distilling.augmenting.augmentation import Altering, WordByWord
from plume.compressing.distilling.augmenting.words import CutText

_EDGE = ""  # before the first word, and after the last
_LEAST = 2  # different words that a lesser frame must have had


@dataclass(frozen=True, kw_only=True)
class SameFrames(WordByWord):
    """Another word that occurs between the same neighbours, as often as it does."""

    def prepared(self, cuts: Sequence[CutText], teacher: Path | None) -> Altering:
        return _Frames(self.rate, cuts)


class _Frames(Altering):
    def __init__(self, rate: float, cuts: Sequence[CutText]) -> None:
        self.rate = rate
        both: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        before: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for cut in cuts:
            for (left, right), word in zip(_frames(cut), cut.words, strict=True):
                both[left, right][word] += 1
                before[left][word] += 1
        self._both = {frame: _table(counts) for frame, counts in both.items() if len(counts) > 1}
        self._before = {left: _table(counts) for left, counts in before.items() if left and len(counts) > _LEAST}

    def change(self, cut: CutText, generator: np.random.Generator) -> CutText:
        chosen = generator.random(len(cut.words)) < self.rate
        lots = generator.random(len(cut.words))
        words = list(cut.words)
        for place, (left, right) in enumerate(_frames(cut)):
            if chosen[place]:
                words[place] = self._another(cut.words[place], left, right, float(lots[place]))
        return replace(cut, words=tuple(words))

    def _another(self, word: str, left: str, right: str, lot: float) -> str:
        table = self._both.get((left, right)) or self._before.get(left)
        if table is None:
            return word
        words, counts = table
        weight = np.where(np.array([one == word for one in words]), 0, counts)
        if not weight.sum():
            return word
        return words[int(np.searchsorted(np.cumsum(weight), lot * weight.sum(), side="right"))]


def _frames(cut: CutText) -> list[tuple[str, str]]:
    words = [_EDGE, *(word.lower() for word in cut.words), _EDGE]
    return list(zip(words[:-2], words[2:], strict=True))


def _table(counts: Counter[str]) -> tuple[list[str], np.ndarray]:
    ordered = sorted(counts.items())
    return [word for word, _ in ordered], np.array([count for _, count in ordered])
