"""Pairs of neighbouring sentences, one to be read and one to be written."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plume.core.errors import PlumeError
from plume.data.layouts.layout import Layout, RowPlan
from plume.data.layouts.stretches import Offsets, sentences_of

if TYPE_CHECKING:
    from plume.data.store import Store


class NeighbourSide(enum.StrEnum):
    """Which of a sentence's neighbours is written."""

    FOLLOWING = "following"
    PRECEDING = "preceding"


@dataclass(frozen=True, kw_only=True)
class Neighbours(Layout):
    """A sentence and its neighbour in the same document, each cut at its end if it is too long (Skip-Thought, arXiv:1506.06726 §2)."""

    neighbour: NeighbourSide = NeighbourSide.FOLLOWING

    @property
    def reads_sentences(self) -> bool:
        return True

    @property
    def texts(self) -> int:
        return 2

    def check(self, store: Store, *, room: int) -> str | None:
        several = sentences_of(store) > 1
        if not several.any():
            raise PlumeError(
                f"All {len(several):,} documents have only one sentence, and this objective writes a sentence's neighbour. "
                "Put blank lines between documents only, not between sentences."
            )
        lost = int((~several).sum())
        return f"{lost:,} of {len(several):,} documents have only one sentence, and are left out." if lost > len(several) / 2 else None

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        first = _followed(store)
        start, end = np.asarray(store.sentence_start), np.asarray(store.sentence_end)
        pair = np.stack([first, first + 1], axis=1)
        if self.neighbour is NeighbourSide.PRECEDING:
            pair = pair[:, ::-1]
        return RowPlan(start=start[pair], end=np.minimum(end[pair], start[pair] + room // 2))


def _followed(store: Store) -> Offsets:
    """The sentences that another of their document follows; in the held-out end of a small corpus, any that is followed."""
    last = np.asarray(store.document_start)[1:] - 1
    count = len(store.sentence_start)
    inside = np.ones(count, bool)
    inside[last] = False
    if not inside.any():
        inside[:-1] = True
    return np.flatnonzero(inside)
