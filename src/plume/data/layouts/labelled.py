"""Layouts for documents with labels: the label to be guessed, or written in front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.corpus import CorpusKind
from plume.data.layouts.layout import Layout, PairLabel, RowPlan
from plume.data.layouts.stretches import Offsets
from plume.text.control import control_token

if TYPE_CHECKING:
    from plume.data.store import Store


@dataclass(frozen=True, kw_only=True)
class LabelledDocuments(Layout):
    """One text a row, cut at its end if it is too long; its label is asked for (DeepMoji, arXiv:1708.00524, §3).

    Balanced, an epoch holds every label as often as the most frequent one: the texts of the others are repeated, all equally often, and
    those that are wanted once more are drawn anew each epoch. (The authors: https://github.com/bfelbo/DeepMoji/issues/22.)
    """

    label: PairLabel | None = PairLabel.DOCUMENT
    made_from: CorpusKind = CorpusKind.EMOJI  # or TEXT, with labels in the corpus
    balanced: bool = False

    def as_it_is(self) -> LabelledDocuments:
        return replace(self, balanced=False)

    @property
    def corpus(self) -> CorpusKind:
        return self.made_from

    def check(self, store: Store, *, room: int) -> str | None:
        _require_labels(store)
        if len(store.labels) < 2:
            raise PlumeError(f"All documents have the same label, '{store.labels[0]}': there is nothing to tell apart.")
        return None

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        start, end = _documents(store)
        label = np.asarray(store.document_label, np.int64)
        if self.balanced:
            chosen = _balanced(label, generator)
            start, end, label = start[chosen], end[chosen], label[chosen]
        return RowPlan(start=start[:, None], end=np.minimum(end, start + room)[:, None], label=label)


@dataclass(frozen=True, kw_only=True)
class CodedBlocks(Layout):
    """Rows of one document, each with the document's control code in front (CTRL, arXiv:1909.05858, §3).

    A row is the code and `room` tokens, to predict each of them. A long document makes several rows, which share a token, as
    make_tf_records.py does; the separator after a document is the last thing to predict.
    """

    @property
    def wrapped(self) -> bool:
        return False

    def check(self, store: Store, *, room: int) -> str | None:
        _require_labels(store)
        if unknown := [name for name, code in zip(store.labels, store.codes.tolist(), strict=True) if code < 0]:
            raise PlumeError(
                f"The tokenizer has no token {control_token(unknown[0])} for the control code '{unknown[0]}' "
                f"({len(unknown)} of {len(store.labels)} codes are unknown to it). Leave --tokenizer out, and plume trains one that has them."
            )
        return None

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        begin, end = _documents(store)
        end = end + 1  # with its separator
        step = max(1, room - 1)
        count = np.maximum(1, -(-(end - begin - 1) // step))
        document = np.repeat(np.arange(len(begin)), count)
        within = np.arange(len(document)) - np.repeat(np.cumsum(count) - count, count)
        start = begin[document] + within * step
        code = store.codes[np.asarray(store.document_label)[document]]
        return RowPlan(start=start[:, None], end=np.minimum(start + room, end[document])[:, None], first=code)


def _documents(store: Store) -> tuple[Offsets, Offsets]:
    """Where the text of each document begins and ends."""
    first = np.asarray(store.document_start)
    return np.asarray(store.sentence_start)[first[:-1]], np.asarray(store.sentence_end)[first[1:] - 1]


def _balanced(label: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Which documents an epoch takes, so that each label comes as often as the most frequent one."""
    most = int(np.bincount(label).max())
    chosen = []
    for one in np.unique(label):
        own = np.flatnonzero(label == one)
        chosen += [np.repeat(own, most // len(own)), generator.choice(own, most % len(own), replace=False)]
    return np.concatenate(chosen)


def _require_labels(store: Store) -> None:
    missing, documents = int((np.asarray(store.document_label) < 0).sum()), len(store.document_label)
    if missing:
        raise PlumeError(
            f"{missing:,} of {documents:,} documents have no label, and this recipe needs one for each: give JSONL, one document a line, as "
            '{"text": "…", "label": "Books"}.'
        )
