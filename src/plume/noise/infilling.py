"""Corrupt: a selected unit leaves one token behind, or none, so that the input is shorter than the text (BART, PEGASUS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Corrupt, Shown
from plume.noise.padded import Flags, Ids, pack, woven
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen


@dataclass(frozen=True, kw_only=True)
class OneMask(Corrupt):
    """Each selected unit shows one mask token however long it is, and each empty one too (BART's text infilling, PEGASUS' gap sentences).

    Of the units, `random` show one token drawn evenly from the vocabulary instead (fairseq's --mask-random, 0 by default and in the paper),
    and `intact` show themselves (PEGASUS large: 0.1).
    """

    shows_mask: ClassVar[bool] = True

    random: float = 0.0
    intact: float = 0.0

    def __post_init__(self) -> None:
        if self.random < 0 or self.intact < 0 or self.random + self.intact > 1 + 1e-12:
            raise PlumeError(f"OneMask(random={self.random}, intact={self.intact}): two shares of at most 1 in sum.")

    def __call__(self, rows: Rows, chosen: Chosen, draws: Draws, alphabet: Alphabet) -> Shown:
        if alphabet.mask is None:
            raise PlumeError("This tokenizer has no mask token, and the objective needs one: choose one trained for masking.")
        width = rows.tokens.shape[1]
        lot = draws.uniform(width)
        unit = np.maximum(np.maximum.accumulate(np.where(chosen.start, np.arange(width), -1), axis=1), 0)
        intact = chosen.tokens & (np.take_along_axis(lot, unit, axis=1) >= 1 - self.intact)
        written = np.full(rows.tokens.shape, alphabet.mask, np.int64)
        if self.random:
            written = np.where(lot < self.random, draws.integers(alphabet.size, width), written)
        start = chosen.start & ~intact
        return shortened(rows, written, ~chosen.tokens | start | intact, start, alphabet, chosen.inserted)

    def trivial_loss(self, entropy: float) -> float:
        return (1 - self.intact) * entropy


@dataclass(frozen=True, kw_only=True)
class Delete(Corrupt):
    """The selected tokens vanish; the model must find where they stood (BART's token deletion)."""

    def __call__(self, rows: Rows, chosen: Chosen, draws: Draws, alphabet: Alphabet) -> Shown:
        return shortened(rows, rows.tokens, ~chosen.tokens, np.zeros_like(chosen.tokens), alphabet)


def shortened(rows: Rows, written: Ids, keep: Flags, replaced: Flags, alphabet: Alphabet, inserted: Ids | None = None) -> Shown:
    """The kept tokens, with `written` at those replaced, and so many masks before each as are inserted there."""
    place = np.broadcast_to(np.arange(rows.tokens.shape[1]), rows.tokens.shape)
    keep = keep & (place < rows.length[:, None])
    tokens = np.where(replaced, written, rows.tokens)
    most = 0 if inserted is None else int(inserted.max(initial=0))
    if inserted is not None and most:
        tokens = woven(*[np.full(tokens.shape, alphabet.mask)] * most, tokens)
        keep = woven(*[inserted > turn for turn in range(most)], keep)
        place = woven(*[place] * (most + 1))
    shown, length = pack(tokens, keep, pad=alphabet.pad)
    return Shown(tokens=shown, length=length, origin=pack(place, keep, pad=0)[0])
