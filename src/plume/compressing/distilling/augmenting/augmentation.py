"""Augmentation: copies of rows with some words altered. What the copies say is for the teacher to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from plume.compressing.distilling.augmenting.words import CutText, cut_example
from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.readers.example import Example

Places = list[list[int]]  # of each text of a row, which of its words


@dataclass(frozen=True, kw_only=True)
class Augmentation(Part):
    """Base: `copies` altered ones of each row, without an answer. Each text of a row varies by itself."""

    copies: int = 10

    def __post_init__(self) -> None:
        if self.copies < 1:
            raise PlumeError(f"{type(self).__name__}: of each row at least one copy is made, not {self.copies}.")

    def altered(self, examples: Sequence[Example], *, seed: int, teacher: Path | None = None) -> list[Example]:
        """The same for the same seed."""
        cuts = [cut_example(example) for example in examples]
        self_made = self.prepared([one for row in cuts for one in row], teacher)
        found = []
        for copy in range(self.copies):
            for number, (example, row) in enumerate(zip(examples, cuts, strict=True)):
                generator = np.random.default_rng([seed % 2**64, copy, number])
                changed = [self_made.change(one, generator) for one in row]
                words = changed[0].spans if example.words is not None else None
                found.append(replace(example, texts=tuple(one.text for one in changed), words=words, answer=None, key=None))
        return found

    def prepared(self, cuts: Sequence[CutText], teacher: Path | None) -> Altering:
        """What alters one text, made of all of them."""
        raise NotImplementedError


class Altering:
    """Alters one text after the other."""

    def change(self, cut: CutText, generator: np.random.Generator) -> CutText:
        """A text with some words altered."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class WordByWord(Augmentation):
    """Base of those that put another word in a word's place, each with probability `rate`: a row has as many words as before."""

    rate: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.rate <= 1:
            raise PlumeError(f"{type(self).__name__}: rate is a share of the words above 0, not {self.rate}.")
