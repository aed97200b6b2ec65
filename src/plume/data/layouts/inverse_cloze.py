"""A sentence and the block that it was taken out of (inverse cloze, arXiv:1906.00300 §4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plume.core.errors import PlumeError
from plume.data.layouts.layout import Layout, RowPlan
from plume.data.layouts.stretches import sentence_pieces, walk

if TYPE_CHECKING:
    from plume.data.store import Store


@dataclass(frozen=True, kw_only=True)
class InverseCloze(Layout):
    """Rows of two texts: a sentence of at most `share` of the room, and the block around it, whole sentences up to the room.

    The sentence is gone from its block in `removed` of the rows; in the others it stays, so that matching words are worth something too. A
    block of one sentence would be empty then, and is left out.
    """

    share: float = 1 / 3
    removed: float = 0.9

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or not 0 <= self.removed <= 1:
            raise PlumeError(f"InverseCloze(share={self.share}, removed={self.removed}): both are shares, of the room and of the rows.")

    @property
    def texts(self) -> int:
        return 2

    @property
    def reads_sentences(self) -> bool:
        return True

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        begin, end, document_start = sentence_pieces(store, longest=room)
        following = np.searchsorted(end, begin + room, side="right")
        following = np.minimum(following, np.repeat(document_start[1:], np.diff(document_start)))
        first = walk(following, document_start)
        last = following[first]  # the sentence behind the block's last
        asked = first + (generator.random(len(first)) * (last - first)).astype(np.int64)
        gone = generator.random(len(first)) < self.removed
        kept = ~gone | (last - first > 1)
        if not kept.any():  # the held-out end of a small corpus: one sentence, which finds itself
            kept, gone = np.ones_like(kept), np.zeros_like(gone)
        start = np.stack([begin[asked], begin[first], np.where(gone, end[asked], end[last - 1])], axis=1)
        stop = np.stack([end[asked], np.where(gone, begin[asked], end[last - 1]), end[last - 1]], axis=1)
        stop[:, 0] = np.minimum(stop[:, 0], start[:, 0] + max(int(room * self.share), 1))
        return RowPlan(start=start[kept], end=stop[kept])
