"""StructBERT's word structure (arXiv:1908.04577 §2.2): short runs of tokens in a wrong order, to be put right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.seeds import Draws
from plume.noise.corrupt import Corrupt, Mask, Shown
from plume.noise.rows import Alphabet, Rows
from plume.noise.select import Chosen


@dataclass(frozen=True, kw_only=True)
class Shuffled(Corrupt):
    """After masking, runs of `size` tokens that were not selected are shuffled; they cover `share` of the row.

    The paper's code was not published: that runs do not overlap, that a shuffle may leave a run as it was (one in six), and that the 5% are
    of the tokens rest on the paper's words alone. The number of runs is rounded by chance, so that short rows get their share too.
    """

    shows_mask: ClassVar[bool] = True
    questions: ClassVar[tuple[str, ...]] = ("moved",)

    mask: Mask = Mask()
    share: float = 0.05
    size: int = 3

    def __post_init__(self) -> None:
        if not (0 < self.share <= 1 and self.size >= 2):
            raise PlumeError(f"Shuffled(share={self.share}, size={self.size}): a share of the tokens, in runs of at least two.")

    def __call__(self, rows: Rows, chosen: Chosen, draws: Draws, alphabet: Alphabet) -> Shown:
        shown = self.mask(rows, chosen, draws, alphabet)
        row, first = self._runs(~(rows.special | chosen.tokens), rows.length, draws)
        key = draws.uniform(rows.tokens.shape[1])
        place = first[:, None] + np.arange(self.size)  # [N, size]
        row = row[:, None]
        order = np.argsort(key[row, place], axis=1)
        tokens = shown.tokens.copy()
        tokens[row, place] = shown.tokens[row, np.take_along_axis(place, order, axis=1)]
        moved = np.zeros(tokens.shape, bool)
        moved[row, place] = True
        return replace(shown, tokens=tokens, moved=moved)

    def _runs(self, open_: NDArray[np.bool_], length: NDArray[np.int64], draws: Draws) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and first places of runs of open tokens that do not overlap."""
        batch, width = open_.shape
        count = np.floor(length * self.share / self.size + draws.uniform(1)[:, 0]).astype(np.int64)
        score = draws.uniform(width)
        for step in range(self.size):  # a run begins where all of its tokens are open
            score[:, : width - step] *= open_[:, step:]
            score[:, width - step :] = 0
        row = np.arange(batch)
        found: list[NDArray[np.int64]] = []
        for turn in range(int(count.max())):
            first = score.argmax(1)
            good = (turn < count) & (score[row, first] > 0)
            found.append(np.stack([row[good], first[good]]))
            for step in range(1 - self.size, self.size):
                score[row[good], np.clip(first[good] + step, 0, width - 1)] = 0
        taken = np.concatenate([np.zeros((2, 0), np.int64), *found], axis=1)
        return taken[0], taken[1]

    def trivial_loss(self, entropy: float) -> float:
        return self.mask.trivial_loss(entropy)
