"""Demonstrations: examples with their answers, shown beside the one that is asked about (arXiv:2005.14165, arXiv:2012.15723 §6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.readers.example import Example

Shown = tuple[int, ...]  # places in the pool, in the order in which they are read
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, kw_only=True)
class Demonstration(Part):
    """An example, and what is said in its blank."""

    texts: tuple[str, ...]
    word: str
    label: str = ""  # empty: its choices are its own


@dataclass(frozen=True, kw_only=True)
class DemonstrationChoice(Part):
    """Base: which of the pool are shown with an example. Several draws of them are asked in turn, and their scores averaged."""

    by_vectors: ClassVar[bool] = False  # does it look at the model's vectors of texts?
    renews: ClassVar[bool] = False  # does training see others in each epoch?

    def chosen(
        self, pool: Sequence[Demonstration], examples: Sequence[Example], *, embed: Embed | None = None, epoch: int | None = None
    ) -> list[tuple[Shown, ...]]:
        """Of each example its draws, all of one number. `epoch` is that of training; None: at use."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class SameForAll(DemonstrationChoice):
    """Chosen once. What is shown is then read once, too."""

    draws: tuple[Shown, ...]

    def chosen(
        self, pool: Sequence[Demonstration], examples: Sequence[Example], *, embed: Embed | None = None, epoch: int | None = None
    ) -> list[tuple[Shown, ...]]:
        return [self.draws] * len(examples)


@dataclass(frozen=True, kw_only=True)
class NearestExamples(DemonstrationChoice):
    """Those most like the example by the model's own vectors, the nearest last (Liu et al., arXiv:2101.06804 §3.1). One that is the example itself is
    left out."""

    by_vectors: ClassVar[bool] = True

    count: int

    def chosen(
        self, pool: Sequence[Demonstration], examples: Sequence[Example], *, embed: Embed | None = None, epoch: int | None = None
    ) -> list[tuple[Shown, ...]]:
        assert embed is not None, "whoever answers has vectors"
        near = likeness(pool, examples, embed)
        for row, example in enumerate(examples):
            near[row, [place for place, one in enumerate(pool) if one.texts == example.texts[: len(one.texts)]]] = -np.inf
        # Of equals the first; the nearest stands next to the question.
        ordered = np.argsort(-near, axis=1, kind="stable")
        kept = [row[np.isfinite(near[place, row])][: self.count] for place, row in enumerate(ordered)]
        return [(tuple(row[::-1].tolist()),) for row in kept]


@dataclass(frozen=True, kw_only=True)
class Demonstrations(Part):
    """A pool of examples, which of them are shown, and what stands between two."""

    pool: tuple[Demonstration, ...]
    choice: DemonstrationChoice
    between: str = " "

    def __post_init__(self) -> None:
        if not self.pool:
            raise PlumeError("There is no example to show.")

    def chosen(self, examples: Sequence[Example], *, embed: Embed | None = None, epoch: int | None = None) -> list[tuple[Shown, ...]]:
        """Of each example its draws."""
        return self.choice.chosen(self.pool, examples, embed=embed, epoch=epoch)


def likeness(pool: Sequence[Demonstration], examples: Sequence[Example], embed: Embed) -> NDArray[np.float32]:
    """[examples, pool] the cosine of the vectors of their texts, so far rounded that company in a batch changes no order."""
    asked = [example.texts[: len(pool[0].texts)] for example in examples]  # choices are no texts of its own
    made = _unit(embed([" ".join(texts) for texts in (*(one.texts for one in pool), *asked)]))
    return (made[len(pool) :] @ made[: len(pool)].T).round(6)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-12), np.float32)
