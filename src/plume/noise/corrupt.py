"""Corrupt: what the input shows at the selected tokens."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.core.seeds import Draws
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The rows as the network sees them; where tokens went or came, the rows are shorter or longer than the text's."""

    tokens: NDArray[np.int64]  # [B, S]
    length: NDArray[np.int64]  # [B]
    origin: NDArray[np.int64] | None = None  # [B, S] the text position that each token stands for; None: its own
    moved: NDArray[np.bool_] | None = None  # [B, S] tokens that stand where another one stood (StructBERT)


@dataclass(frozen=True, kw_only=True)
class Corrupt(Part):
    """What the network is shown where tokens were selected."""

    keeps_places: ClassVar[bool] = False  # what is shown stands where it stood
    shows_mask: ClassVar[bool] = False
    shows_sentinels: ClassVar[bool] = False
    questions: ClassVar[tuple[str, ...]] = ()  # which further ones objectives may ask of it

    def __call__(self, rows: Rows, chosen: Chosen, draws: Draws, alphabet: Alphabet) -> Shown:
        """The rows as the network sees them."""
        raise NotImplementedError

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if self.shows_mask and recipe.format.mask is None:
            yield f"{name} shows a mask, and the format has no mask token; set format.mask."
        if self.shows_sentinels and not recipe.format.sentinels:
            yield f"{name} shows sentinels, and the format has none; set format.sentinels=100."

    def trivial_loss(self, entropy: float) -> float:
        """What a model pays that knows how frequent tokens are (their entropy) and can copy what it is shown, and nothing of context."""
        return entropy


@dataclass(frozen=True, kw_only=True)
class Keep(Corrupt):
    """The text as it is."""

    keeps_places: ClassVar[bool] = True

    def __call__(self, rows: Rows, chosen: Chosen, draws: Draws, alphabet: Alphabet) -> Shown:
        return Shown(tokens=rows.tokens, length=rows.length)


class Per(enum.StrEnum):
    """For what a fate is drawn: each token by itself (BERT), or the whole unit at once (SpanBERT)."""

    TOKEN = "token"
    UNIT = "unit"


class Draw(enum.StrEnum):
    """Where random tokens come from: evenly from the whole vocabulary (BERT), or as frequent as in the corpus (SpanBERT)."""

    EVEN = "even"
    CORPUS = "corpus"


@dataclass(frozen=True, kw_only=True)
class Mask(Corrupt):
    """Of the selected tokens, `mask` show the mask token, `random` a random token, the rest themselves.

    BERT's 80/10/10 is the default; it is drawn for each token, also inside a whole word. SpanBERT draws it once for a span (its own
    option `--replacement-method span`), and random tokens from the corpus: `Mask(per=Per.UNIT, draw=Draw.CORPUS)`.
    """

    keeps_places: ClassVar[bool] = True
    shows_mask: ClassVar[bool] = True

    mask: float = 0.8
    random: float = 0.1
    per: Per = Per.TOKEN
    draw: Draw = Draw.EVEN

    def __post_init__(self) -> None:
        if self.mask < 0 or self.random < 0 or self.mask + self.random > 1 + 1e-12:
            raise PlumeError(f"Mask(mask={self.mask}, random={self.random}): two shares of at most 1 in sum.")

    def __call__(self, rows: Rows, chosen: Chosen, draws: Draws, alphabet: Alphabet) -> Shown:
        if alphabet.mask is None:
            raise PlumeError("This tokenizer has no mask token, and the objective needs one: choose one trained for masking.")
        width = rows.tokens.shape[1]
        lot = draws.uniform(width)
        if self.per is Per.UNIT:
            first = np.maximum.accumulate(np.where(chosen.start, np.arange(width), 0), axis=1)
            lot = np.take_along_axis(lot, first, axis=1)
        shown = np.where(chosen.tokens & (lot < self.mask), alphabet.mask, rows.tokens)
        replaced = chosen.tokens & (lot >= self.mask) & (lot < self.mask + self.random)
        if self.random:
            shown[replaced] = self._random(draws.uniform(width)[replaced], alphabet)
        return Shown(tokens=shown, length=rows.length)

    def _random(self, lot: NDArray[np.float64], alphabet: Alphabet) -> NDArray[np.int64]:
        if self.draw is Draw.EVEN:
            return (lot * alphabet.size).astype(np.int64)
        if alphabet.counts is None:
            raise PlumeError("Mask(draw=CORPUS) needs to know how frequent each token is: the alphabet has no counts.")
        upto = np.cumsum(alphabet.counts)
        return np.searchsorted(upto, lot * upto[-1], side="right")

    def trivial_loss(self, entropy: float) -> float:
        """A selected token that shows no mask is the right one with odds kept : random; BERT's 80/10/10 gives 0.9 · entropy + 0.14.

        >>> round(Mask().trivial_loss(7.0), 2), round(Mask(mask=0.85, random=0.0).trivial_loss(7.0), 2)
        (6.44, 5.95)
        """
        kept = max(1 - self.mask - self.random, 0.0)
        doubt = sum(-share * math.log(share / (kept + self.random)) for share in (kept, self.random) if share > 0)
        return (self.mask + self.random) * entropy + doubt
