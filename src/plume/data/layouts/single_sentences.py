"""Rows of one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plume.core.errors import PlumeError
from plume.data.layouts.carried import OWN_DOCUMENT
from plume.data.layouts.layout import Layout, RowPlan
from plume.data.layouts.stretches import sentence_pieces

if TYPE_CHECKING:
    from plume.data.store import Store


@dataclass(frozen=True, kw_only=True)
class SingleSentences(Layout):
    """A row for each sentence, cut where it is longer than the room (MASS, arXiv:1905.02450, which trains on sentences).

    With `share` they have a part of the room only: the rest is for what a network reads beside them (REALM). With `having`, a sentence needs
    a unit of this kind, where the store knows of any.
    """

    share: float = 1.0
    having: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise PlumeError(f"SingleSentences(share={self.share}): give the share of a row's room that a sentence may have.")

    @property
    def reads_sentences(self) -> bool:
        return True

    @property
    def attached(self) -> tuple[str, ...]:
        return (OWN_DOCUMENT,)

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        begin, end, _ = sentence_pieces(store, longest=max(int(room * self.share), 2))
        marked = None if self.having is None else store.units.get(self.having)
        if marked is not None and marked.any():
            count = np.concatenate([[0], np.cumsum(marked)])
            wanted = count[end] > count[begin]
            if wanted.any():
                begin, end = begin[wanted], end[wanted]
        return RowPlan(start=begin[:, None], end=end[:, None])
