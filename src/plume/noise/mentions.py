"""Hiding mentions of entities whole, and asking which entity each is of (Entities as Experts, arXiv:2004.07202 §3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Mask, Shown
from plume.noise.rows import Alphabet, Rows, not_carried
from plume.noise.select import Chosen, Rate
from plume.noise.target import Aim, InPlace, SecondQuestion

NAME = "mentions"  # of the rows' array
Flags = NDArray[np.bool_]


def bounds(rows: Rows) -> tuple[Flags, Flags]:
    """[B, T] Where mentions begin, and where they end: unbroken runs of one number."""
    ids = rows.named[NAME]
    padded = np.pad(ids, ((0, 0), (1, 1)), constant_values=-1)
    return (ids >= 0) & (ids != padded[:, :-2]), (ids >= 0) & (ids != padded[:, 2:])


@dataclass(frozen=True, kw_only=True)
class Mentions(Rate):
    """Each mention with probability `mentions`, whole; of the tokens that no mention covers, the share `rate`, singly."""

    mentions: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.mentions <= 1:
            raise PlumeError(f"Mentions(mentions={self.mentions}): give the share of mentions to hide, above 0 and up to 1.")

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        yield from not_carried(recipe, name, self, NAME)

    def __call__(self, rows: Rows, draws: Draws) -> Chosen:
        width = rows.tokens.shape[1]
        begins, _ = bounds(rows)
        inside = rows.named[NAME] >= 0
        first = np.maximum.accumulate(np.where(begins, np.arange(width), 0), axis=1)
        hidden = inside & np.take_along_axis(draws.uniform(width) < self.mentions, first, axis=1)
        open_places = ~inside & ~rows.special
        count = np.rint(open_places.sum(1) * self.rate).astype(np.int64)
        count = np.where(hidden.any(1), count, np.maximum(count, 1))[:, None]
        order = np.argsort(np.where(open_places, draws.uniform(width), 2.0), axis=1)
        single = np.zeros_like(hidden)
        np.put_along_axis(single, order, np.arange(width) < count, axis=1)
        single &= open_places
        return Chosen(tokens=hidden | single, start=(hidden & begins) | single)


@dataclass(frozen=True, kw_only=True)
class MaskMentions(Mask):
    """A mention that is hidden shows masks only; other tokens as `Mask` has them."""

    def __call__(self, rows: Rows, chosen: Chosen, draws: Draws, alphabet: Alphabet) -> Shown:
        shown = super().__call__(rows, chosen, draws, alphabet)
        assert alphabet.mask is not None, "or the line above had refused it"
        return replace(shown, tokens=np.where(chosen.tokens & (rows.named[NAME] >= 0), alphabet.mask, shown.tokens))


@dataclass(frozen=True, kw_only=True)
class InPlaceWithMentions(InPlace):
    """In place, and three further questions: of all `mentions` or the `hidden_mentions` which entity they are of, asked at their first token with
    the last and their number beside; and of all tokens of the text whether they are outside of mentions (0), begin one (1), or stand inside (2)."""

    questions: ClassVar[tuple[str, ...]] = ("mentions", "hidden_mentions", "mention_tags")

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        yield from super().problems(recipe, name)
        yield from not_carried(recipe, name, self, NAME)

    def __call__(self, rows: Rows, chosen: Chosen, shown: Shown, draws: Draws, alphabet: Alphabet) -> Aim:
        aim = super().__call__(rows, chosen, shown, draws, alphabet)
        ids, width = rows.named[NAME], rows.tokens.shape[1]
        begins, ends = bounds(rows)
        last = np.minimum.accumulate(np.where(ends, np.arange(width), width - 1)[:, ::-1], axis=1)[:, ::-1]
        every = SecondQuestion(where=begins, what=ids, context=last[..., None], feature=last - np.arange(width) + 1)
        tags = np.where(begins, 1, np.where(ids >= 0, 2, 0))
        return replace(
            aim,
            others=aim.others
            | {
                "mentions": every,
                "hidden_mentions": replace(every, where=begins & chosen.tokens),
                "mention_tags": SecondQuestion(where=~rows.special, what=tags),
            },
        )
