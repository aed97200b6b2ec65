"""Corrupt: what the input shows at the selected tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.core.seeds import Draws
from plume.noise.rows import Alphabet, Rows


@dataclass(frozen=True, kw_only=True)
class Corrupt(Part):
    def __call__(self, rows: Rows, chosen: NDArray[np.bool_], draws: Draws, alphabet: Alphabet) -> NDArray[np.int64]:
        """[B, T] the tokens as the network will see them."""
        raise NotImplementedError

    def trivial_loss(self, entropy: float) -> float:
        """What a model pays that knows how frequent tokens are (their entropy) and can copy what it is shown, and nothing of context."""
        return entropy


@dataclass(frozen=True, kw_only=True)
class Keep(Corrupt):
    """The text as it is."""

    def __call__(self, rows: Rows, chosen: NDArray[np.bool_], draws: Draws, alphabet: Alphabet) -> NDArray[np.int64]:
        return rows.tokens


@dataclass(frozen=True, kw_only=True)
class Mask(Corrupt):
    """Of the selected tokens, `mask` show the mask token, `random` a token drawn evenly from the whole vocabulary, the rest themselves.

    BERT's 80/10/10 is the default; it is drawn for each token, also inside a whole word.
    """

    mask: float = 0.8
    random: float = 0.1

    def __post_init__(self) -> None:
        if self.mask < 0 or self.random < 0 or self.mask + self.random > 1 + 1e-12:
            raise PlumeError(f"Mask(mask={self.mask}, random={self.random}): two shares of at most 1 in sum.")

    def __call__(self, rows: Rows, chosen: NDArray[np.bool_], draws: Draws, alphabet: Alphabet) -> NDArray[np.int64]:
        if alphabet.mask is None:
            raise PlumeError("This tokeniser has no mask token, and the objective needs one: choose one trained for masking.")
        width = rows.tokens.shape[1]
        lot = draws.uniform(width)
        shown = np.where(chosen & (lot < self.mask), alphabet.mask, rows.tokens)
        replaced = chosen & (lot >= self.mask) & (lot < self.mask + self.random)
        if self.random:
            shown = np.where(replaced, draws.integers(alphabet.size, width), shown)
        return shown

    def trivial_loss(self, entropy: float) -> float:
        """A selected token that shows no mask is the right one with odds kept : random; BERT's 80/10/10 gives 0.9 · entropy + 0.14.

        >>> round(Mask().trivial_loss(7.0), 2), round(Mask(mask=0.85, random=0.0).trivial_loss(7.0), 2)
        (6.44, 5.95)
        """
        kept = max(1 - self.mask - self.random, 0.0)
        doubt = sum(-share * math.log(share / (kept + self.random)) for share in (kept, self.random) if share > 0)
        return (self.mask + self.random) * entropy + doubt
