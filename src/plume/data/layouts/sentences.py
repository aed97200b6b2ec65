"""Rows of several sentences of one document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plume.core.errors import PlumeError
from plume.data.layouts.layout import FullSentences, Layout, RowPlan
from plume.data.layouts.stretches import sentences_of

if TYPE_CHECKING:
    from plume.data.store import Store


@dataclass(frozen=True, kw_only=True)
class DocumentSentences(Layout):
    """Whole sentences of one document until the row is full; rows of fewer than `least` sentences are left out.

    For what works on sentences: gap sentences (PEGASUS, arXiv:1912.08777, §3.1), sentence permutation (BART, arXiv:1910.13461, §2.2). Held-out
    text of a small corpus may have no such row: then its rows run across documents, and if that is not enough all rows are kept.
    """

    least: int = 2

    @property
    def reads_sentences(self) -> bool:
        return True

    def check(self, store: Store, *, room: int) -> str | None:
        sentences = sentences_of(store)
        several, documents = int((sentences >= self.least).sum()), len(sentences)
        few = "only one sentence" if self.least == 2 else f"fewer than {self.least} sentences"
        found = f"{documents - several:,} of {documents:,} documents have {few}"
        advice = "Put blank lines between documents only, not between sentences"
        if several == 0:
            raise PlumeError(
                f"{found}: this recipe works on the sentences of a document. {advice}; or use a recipe that needs none (BERT, T5)."
            )
        if not self._enough(store, self._rows(store, across=False, room=room)).any():
            raise PlumeError(
                f"No row of {room} tokens holds {self.least} whole sentences: the sentences are too long. Raise training.length."
            )
        return f"{found}: they are left out. {advice}." if documents - several > 0.5 * documents else None

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        for across in (False, True):
            found = self._rows(store, across=across, room=room)
            enough = self._enough(store, found)
            if enough.any():
                return RowPlan(start=found.start[enough], end=found.end[enough])
        return found

    @staticmethod
    def _rows(store: Store, *, across: bool, room: int) -> RowPlan:
        return FullSentences(across=across).plan(store, room=room, generator=np.random.default_rng(0))  # which draws nothing

    def _enough(self, store: Store, plan: RowPlan) -> np.ndarray:
        """[n] does a row touch so many sentences? A long one that had to be cut counts as one."""
        first = np.searchsorted(store.sentence_start, plan.start[:, 0], side="right")
        last = np.searchsorted(store.sentence_start, plan.end[:, 0] - 1, side="right")
        return last - first + 1 >= self.least
