"""What noise works on: a batch of token rows with the bounds that the store knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plume.core.part import Part

if TYPE_CHECKING:
    from plume.noise.spelling import Spelling


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of a batch as the text has them, framed and padded."""

    tokens: NDArray[np.int64]  # [B, T]
    length: NDArray[np.int64]  # [B] the rest is padding
    special: NDArray[np.bool_]  # [B, T] special tokens and padding: never selected
    word_start: NDArray[np.bool_]  # [B, T]
    segment: NDArray[np.int64] | None = None  # [B, T]
    position: NDArray[np.int64] | None = None  # [B, T]; None: 0, 1, 2 …
    sentence: NDArray[np.int64] | None = None  # [B, T] which sentence of the row, from 0; -1 at special tokens; only for noise that asks
    units: dict[str, NDArray[np.bool_]] = field(default_factory=dict)  # by kind (phrase, entity): where one begins; words elsewhere
    spelling: Spelling | None = None  # of the vocabulary, for noise that compares words
    backward: NDArray[np.bool_] | None = None  # [B] rows read from their end to their start
    named: dict[str, NDArray[np.int64]] = field(default_factory=dict)  # [B, T] by name, what the corpus carries beside its tokens
    label: NDArray[np.int64] | None = None  # [B] what the layout knows of each row (next or random, in order or swapped)

    def with_closing(self) -> Rows:
        """The same rows, in which the token that closes each may be selected like text: a model that writes must learn where to stop."""
        special = self.special.copy()
        special[np.arange(len(special)), self.length - 1] = False
        return replace(self, special=special)


@dataclass(frozen=True, kw_only=True)
class Alphabet:
    """The ids that noise may write."""

    size: int
    mask: int | None
    pad: int = 0
    end: int | None = None  # closes a text; a decoder's last word
    start: int | None = None  # a decoder's first input
    sentinels: tuple[int, ...] = ()  # one for each span that is taken out (T5)
    counts: NDArray[np.int64] | None = None  # [size] of each token in the corpus, for noise that draws like it


def not_carried(recipe: Any, name: str, part: Part, *fields: str) -> Iterator[str]:
    """Why a part of the noise cannot work: fields that the rows must carry beside their tokens, and do not."""
    carried = {one.name for one in recipe.carries}
    for one in fields:
        if one not in carried:
            yield f"{name}: {type(part).__name__} works on {one}, which the rows do not carry; set layout.carries=(SpanField(name='{one}'),)."
