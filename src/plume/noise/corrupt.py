"""Corrupt: what the input shows at the selected tokens."""

from __future__ import annotations

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
