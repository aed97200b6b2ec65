"""Noise over what a knowledge base says of a text: links that are replaced or dropped (ERNIE of Tsinghua, arXiv:1905.07129 §3.4), and names that
may mean several things, under masks: whose token is hidden does not tell what it may mean (KnowBERT, arXiv:1909.04164 §3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Shown
from plume.noise.rows import Alphabet, Rows, not_carried
from plume.noise.select import Chosen
from plume.noise.target import Aim, InPlace, SecondQuestion

NONE = -1
_MANY = 2**31


@dataclass(frozen=True, kw_only=True)
class InPlaceWithLinks(InPlace):
    """Tokens in place, and two questions about the links: `noisy_links`, those that were replaced or dropped, and `kept_links`, which can be copied.

    A row is noised alone, and another entity comes from the whole batch: here only a number is drawn, written as −2 − number, by which the
    network chooses among the batch's others.

    >>> rows = np.array([[-1, 7, 7, -1, 7, 3]])
    >>> mention_starts(rows).tolist()
    [[False, True, False, False, True, True]]
    """

    questions: ClassVar[tuple[str, ...]] = ("noisy_links", "kept_links")
    replaced: float = 0.05
    dropped: float = 0.15

    def __post_init__(self) -> None:
        if not (self.replaced >= 0 and self.dropped >= 0 and self.replaced + self.dropped <= 1):
            raise PlumeError(f"replaced={self.replaced} and dropped={self.dropped} are shares of the links, at most 1 together.")

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        yield from super().problems(recipe, name)
        yield from not_carried(recipe, name, self, "mentions")

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        aim = super().__call__(rows, chosen, shown, draws, alphabet)
        mentions = rows.named["mentions"]
        begins, width = mention_starts(mentions), mentions.shape[1]
        fate, which = draws.uniform(width), draws.uniform(width)
        other = begins & (fate < self.replaced)
        noisy = begins & (fate < self.replaced + self.dropped)
        links = np.where(begins & ~noisy, mentions, NONE)
        links = np.where(other, -2 - (which * _MANY).astype(np.int64), links)
        questions = {
            "noisy_links": SecondQuestion(where=noisy, what=mentions),
            "kept_links": SecondQuestion(where=begins & ~noisy, what=mentions),
        }
        return replace(aim, others=aim.others | questions, named={"links": links})


@dataclass(frozen=True, kw_only=True)
class InPlaceWithForms(InPlace):
    """Tokens in place. A name of which a token was chosen loses its candidates: it is shown as −2, or −3 where two such stand side by side.
    `meanings` asks which entity each other name means, where the text says it."""

    questions: ClassVar[tuple[str, ...]] = ("meanings",)

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        yield from super().problems(recipe, name)
        yield from not_carried(recipe, name, self, "mentions", "forms")

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        aim = super().__call__(rows, chosen, shown, draws, alphabet)
        forms, mentions = rows.named["forms"], rows.named["mentions"]
        before = np.concatenate([np.full((len(forms), 1), -1), forms[:, :-1]], axis=1)
        starts = (forms >= 0) & (forms != before)
        number = np.where(forms >= 0, np.cumsum(starts, axis=1), 0)
        hides = np.zeros((len(forms), forms.shape[1] + 1), bool)
        np.logical_or.at(hides, (np.arange(len(forms))[:, None], number), chosen.tokens & (forms >= 0))
        hidden = np.take_along_axis(hides, number, axis=1) & (forms >= 0)
        asked = starts & ~hidden & (mentions >= 0)
        return replace(
            aim,
            others=aim.others | {"meanings": SecondQuestion(where=asked, what=mentions)},
            named={"forms": np.where(hidden, -2 - number % 2, forms)},
        )


def mention_starts(mentions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[B, T] entity ids, −1 for none, to where each mention begins."""
    before = np.concatenate([np.full((len(mentions), 1), NONE), mentions[:, :-1]], axis=1)
    return np.asarray((mentions >= 0) & (mentions != before))
