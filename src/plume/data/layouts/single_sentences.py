"""Rows of one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plume.data.layouts.layout import Layout, RowPlan
from plume.data.layouts.stretches import sentence_pieces

if TYPE_CHECKING:
    from plume.data.store import Store


@dataclass(frozen=True, kw_only=True)
class SingleSentences(Layout):
    """A row for each sentence, cut where it is longer than the room (MASS, arXiv:1905.02450, which trains on sentences)."""

    @property
    def reads_sentences(self) -> bool:
        return True

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        begin, end, _ = sentence_pieces(store, longest=room)
        return RowPlan(start=begin[:, None], end=end[:, None])
