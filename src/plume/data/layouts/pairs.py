"""Layouts for pairs: both sides in a row, or rows of one side."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.data.corpus import CorpusKind
from plume.data.layouts.layout import FullSentences, Layout, RowPlan
from plume.data.layouts.stretches import Offsets, cuts, walk

if TYPE_CHECKING:
    from plume.data.store import Store


class Direction(enum.StrEnum):
    """Which side comes first."""

    FORWARD = "forward"  # as the corpus has them
    BACKWARD = "backward"
    BOTH = "both"  # each pair twice an epoch
    EITHER = "either"  # drawn for each pair


class Fit(enum.StrEnum):
    """What must have room in a row."""

    TOGETHER = "together"  # both sides (XLM's translation LM)
    APART = "apart"  # each side by itself, as encoder and decoder have rows of their own (Transformer)


@dataclass(frozen=True, kw_only=True)
class Translations(Layout):
    """A sentence and its translation (Transformer, arXiv:1706.03762, §5.1; XLM's translation LM, arXiv:1901.07291, §3.3, sides in fixed order).

    Pairs that are too long are left out. Positions begin again with the second side (`reset`, XLM §3.3).
    """

    direction: Direction = Direction.FORWARD
    fit: Fit = Fit.TOGETHER
    reset: bool = True

    @property
    def texts(self) -> int:
        return 2

    @property
    def restarts(self) -> bool:
        return self.reset

    @property
    def languages(self) -> bool:
        # Encoder and decoder are told apart by the format's segments, which languages would take the place of.
        return self.fit is Fit.TOGETHER

    @property
    def corpus(self) -> CorpusKind:
        return CorpusKind.PAIRS

    def check(self, store: Store, *, room: int) -> str | None:
        size = self._size(_sides(store))
        lost = int((size > room).sum())
        if lost == len(size):
            raise PlumeError(f"None of {lost:,} pairs has room in {room} tokens; the shortest takes {size.min()}. Raise training.length.")
        if lost > 0.05 * len(size):
            return (
                f"{lost:,} of {len(size):,} pairs ({lost / len(size):.0%}) are longer than {room} tokens and left out; see training.length."
            )
        return None

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        start, end = _sides(store)
        language = np.asarray(store.sentence_language).reshape(-1, 2)
        fits = self._size((start, end)) <= room
        if fits.any():
            start, end, language = start[fits], end[fits], language[fits]
        else:  # held-out text of a small corpus
            end = np.minimum(end, start + room) if self.fit is Fit.APART else end - np.stack(cuts(end - start, room), axis=1)
        if self.direction is Direction.BOTH:
            start, end, language = (np.concatenate([sides, sides[:, ::-1]]) for sides in (start, end, language))
        else:
            turned = {Direction.FORWARD: 0.0, Direction.BACKWARD: 1.0, Direction.EITHER: 0.5}[self.direction]
            swap = (generator.random(len(start)) < turned)[:, None]
            start, end, language = (np.where(swap, sides[:, ::-1], sides) for sides in (start, end, language))
        return RowPlan(start=start, end=end, language=language if self.languages else None)

    def _size(self, sides: tuple[Offsets, Offsets]) -> Offsets:
        length = sides[1] - sides[0]
        return length.max(1) if self.fit is Fit.APART else length.sum(1)


@dataclass(frozen=True, kw_only=True)
class OneSide(Layout):
    """Rows of one language: sentences of the same side of successive pairs, a separator after each, until the row is full (XLM §3.2).

    A plain text is one language: whole sentences across documents.
    """

    made_from: CorpusKind = CorpusKind.PAIRS

    @property
    def languages(self) -> bool:
        return True

    @property
    def corpus(self) -> CorpusKind:
        return self.made_from

    def plan(self, store: Store, *, room: int, rows: int = 1, generator: np.random.Generator) -> RowPlan:
        if self.made_from is not CorpusKind.PAIRS:
            whole = FullSentences().plan(store, room=room, generator=generator)
            return RowPlan(start=whole.start, end=whole.end, language=np.zeros((len(whole), 1), np.int64))
        language = np.asarray(store.sentence_language)
        order = np.argsort(language, kind="stable")  # one language after another, each in the order of the corpus
        start = np.asarray(store.sentence_start)[order]
        end = np.minimum(np.asarray(store.sentence_end)[order], start + room)  # a sentence over the room loses its end
        limits = np.concatenate([[0], np.cumsum(np.bincount(language[order]))])
        return _packed(start, end, language[order], limits, room=room)


def _packed(start: Offsets, end: Offsets, language: NDArray[np.int64], limits: Offsets, *, room: int) -> RowPlan:
    """Sentences in this order until a row is full; a row has as many stretches as the fullest, and empty ones at its end."""
    before = np.concatenate([[0], np.cumsum(end - start + 1)])  # with the separators between
    following = np.searchsorted(before, before[:-1] + room + 1, side="right") - 1
    following = np.minimum(following, np.repeat(limits[1:], np.diff(limits)))
    first = walk(following, limits)
    count = following[first] - first
    column = np.arange(int(count.max()))
    inside = column < count[:, None]
    sentence = np.minimum(first[:, None] + column, len(start) - 1)
    last = column == count[:, None] - 1
    begin = np.where(inside, start[sentence], 0)
    stop = np.where(inside, end[sentence] + ~last, 0)
    return RowPlan(start=begin, end=stop, language=np.broadcast_to(language[first][:, None], begin.shape))


def _sides(store: Store) -> tuple[Offsets, Offsets]:
    """[pairs, 2] starts and ends."""
    return np.asarray(store.sentence_start).reshape(-1, 2), np.asarray(store.sentence_end).reshape(-1, 2)
