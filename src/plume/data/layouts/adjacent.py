"""Rows of two texts that follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plume.data.layouts.layout import FullSentences, Layout, RowPlan
from plume.data.layouts.stretches import sentence_pieces

if TYPE_CHECKING:
    from plume.data.store import Store


@dataclass(frozen=True, kw_only=True)
class AdjacentTexts(Layout):
    """Whole sentences of one document until the row is full, cut in two between sentences: the second text begins where the first ends.

    For a first text that is read and a second that is written after it (UniLM, arXiv:1905.03197, §2.3: source and target are one contiguous
    text). A row of a single sentence is cut inside it; one of a single token is left out.
    """

    @property
    def reads_sentences(self) -> bool:
        return True

    @property
    def texts(self) -> int:
        return 2

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        whole = FullSentences(across=False).plan(store, room=room, rows=rows, generator=generator)
        start, end = whole.start[:, 0], whole.end[:, 0]
        if (enough := end - start > 1).any():
            start, end = start[enough], end[enough]
        begin, _, _ = sentence_pieces(store, longest=room)
        first, last = np.searchsorted(begin, start), np.searchsorted(begin, end)  # [n] sentences first:last of each row
        draw = generator.random(len(start))
        between = begin[np.minimum(first + 1 + (draw * (last - first - 1)).astype(np.int64), len(begin) - 1)]
        inside = start + 1 + (draw * (end - start - 1)).astype(np.int64)
        cut = np.where(last - first > 1, between, inside)
        return RowPlan(start=np.stack([start, cut], axis=1), end=np.stack([cut, end], axis=1))
