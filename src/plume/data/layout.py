"""Layout: which stretches of the corpus stand together in one row.

A layout plans a whole epoch as arrays of token offsets (no Python per token or per row), from a generator seeded by (seed, epoch).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plume.core.part import Part

if TYPE_CHECKING:
    from plume.data.store import Store

Offsets = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Row i holds the tokens start[i, s]:end[i, s] of the store, one stretch a text (S = 1, or 2 for pairs)."""

    start: Offsets  # [n, S]
    end: Offsets  # [n, S]
    label: NDArray[np.int64] | None = None  # [n]

    def __len__(self) -> int:
        return len(self.start)


class PairLabel(enum.StrEnum):
    """What a sentence-pair objective asks: does B follow A or is it random (BERT), were A and B swapped (ALBERT)?"""

    RANDOM_NEXT = "random_next"
    SWAPPED = "swapped"


@dataclass(frozen=True, kw_only=True)
class Layout(Part):
    label: PairLabel | None = None

    @property
    def texts(self) -> int:
        """How many texts a row holds; decides between the single and the pair format."""
        return 1

    @property
    def wrapped(self) -> bool:
        """Do rows carry the format's special tokens?"""
        return True

    def plan(self, store: Store, *, room: int, generator: np.random.Generator) -> Plan:
        """Rows of at most `room` tokens of text."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Blocks(Layout):
    """The corpus as one stream with a separator after each document, cut every `room` tokens, from a random start (GPT).

    Blocks overlap by one token, so that next-token prediction loses none.
    """

    @property
    def wrapped(self) -> bool:
        return False

    def plan(self, store: Store, *, room: int, generator: np.random.Generator) -> Plan:
        total = len(store.tokens)
        first = int(generator.integers(0, room)) if total > 2 * room else 0
        start = np.arange(first, total - 1, room)
        if first > 0:
            start = np.concatenate([[0], start])
        end = np.minimum(start + room + 1, total)
        if first > 0:
            end[0] = first + 1
        return Plan(start=start[:, None], end=end[:, None])


@dataclass(frozen=True, kw_only=True)
class FullSentences(Layout):
    """Whole sentences until the row is full, across documents, with an extra separator between them (RoBERTa §4.2).

    With `across` false a row ends with its document (RoBERTa's DOC-SENTENCES; ELECTRA).
    """

    across: bool = True

    def plan(self, store: Store, *, room: int, generator: np.random.Generator) -> Plan:
        begin, end, document_start = sentence_pieces(store, longest=room)
        limits = np.array([0, len(begin)]) if self.across else document_start
        next_start = np.searchsorted(end, begin + room, side="right")  # at least the next: no piece is longer than the room
        next_start = np.minimum(next_start, np.repeat(limits[1:], np.diff(limits)))
        chosen = _walk(next_start, limits)
        return Plan(start=begin[chosen][:, None], end=end[next_start[chosen] - 1][:, None])


@dataclass(frozen=True, kw_only=True)
class SentencePairs(Layout):
    """Two stretches of whole sentences, as create_pretraining_data.py of BERT and of ALBERT make them.

    A chunk of sentences fills the row (one time in ten a shorter one), is cut in two at random, and then: RANDOM_NEXT puts a stretch of
    another document in B's place half the time and gives B's sentences back; SWAPPED exchanges A and B half the time. A chunk of a single
    sentence always gets a random B, so the labels are not exactly even. Documents differ from their random partner where there are two.
    """

    label: PairLabel | None = PairLabel.RANDOM_NEXT
    short: float = 0.1

    @property
    def texts(self) -> int:
        return 2

    def plan(self, store: Store, *, room: int, generator: np.random.Generator) -> Plan:
        begin, end, document_start = sentence_pieces(store, longest=room)
        if len(begin) == 1:  # the held-out end of a very small corpus: its two halves are the pair
            middle = (begin + end) // 2
            begin, end, document_start = np.concatenate([begin, middle]), np.concatenate([middle, end]), np.array([0, 2])
        count = len(begin)
        document_end = np.repeat(document_start[1:], np.diff(document_start))  # for each sentence
        before = np.concatenate([[0], np.cumsum(end - begin)])  # tokens before each sentence
        # Draw for every sentence as if a chunk began there; the walk below then uses the draws of the real starts only.
        shorter = generator.random(count) < self.short
        aim = np.where(shorter, generator.integers(2, max(room, 2) + 1, count), room)
        chunk_end = np.minimum(np.searchsorted(before, before[:-1] + aim, side="left"), document_end)
        size = chunk_end - np.arange(count)
        cut = np.where(size > 1, np.arange(count) + 1 + (generator.random(count) * (size - 1)).astype(np.int64), chunk_end)
        coin = generator.random(count) < 0.5
        random_next = (size == 1) | (coin if self.label is PairLabel.RANDOM_NEXT else False)
        at = _walk(np.where(random_next, cut, chunk_end), document_start)

        a_begin, a_end, b_begin, b_end = begin[at], end[cut[at] - 1], begin[np.minimum(cut[at], count - 1)], end[chunk_end[at] - 1]
        partner = _partners(at[random_next[at]], document_start, generator)
        needed = np.maximum(aim[at] - (a_end - a_begin), 1)[random_next[at]]
        partner_end = np.minimum(np.searchsorted(before, before[partner] + needed, side="left"), document_end[partner])
        b_begin[random_next[at]] = begin[partner]
        b_end[random_next[at]] = end[np.maximum(partner_end, partner + 1) - 1]
        start, stop = np.stack([a_begin, b_begin], axis=1), np.stack([a_end, b_end], axis=1)
        swapped = (coin & ~random_next)[at] if self.label is PairLabel.SWAPPED else np.zeros(len(at), bool)
        start[swapped], stop[swapped] = start[swapped][:, ::-1], stop[swapped][:, ::-1]
        _truncate(start, stop, room, generator)
        return Plan(start=start, end=stop, label=(random_next[at] | swapped).astype(np.int64))


def sentence_pieces(store: Store, *, longest: int) -> tuple[Offsets, Offsets, Offsets]:
    """Sentence bounds with those over `longest` cut in pieces, so that no text is lost: begin, end, first sentence of each document."""
    begin, end = np.asarray(store.sentence_start), np.asarray(store.sentence_end)
    pieces = -(-(end - begin) // longest)
    which = np.repeat(np.arange(len(begin)), pieces)
    within = np.arange(len(which)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    piece_begin = begin[which] + within * longest
    first = np.concatenate([[0], np.cumsum(pieces)])
    return piece_begin, np.minimum(piece_begin + longest, end[which]), first[np.asarray(store.document_start)]


def _walk(following: Offsets, starts: Offsets) -> Offsets:
    """The sentences at which chunks really begin: from the start of each document along the `following` pointers."""
    visited = []
    pointers = following.tolist()
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        here = first
        while here < last:
            visited.append(here)
            here = pointers[here]
    return np.array(visited, np.int64)


def _partners(at: Offsets, document_start: Offsets, generator: np.random.Generator) -> Offsets:
    """For each chunk a random sentence of another document (of the same one if there is only one)."""
    documents = len(document_start) - 1
    own = np.searchsorted(document_start, at, side="right") - 1
    other = generator.integers(0, max(documents - 1, 1), len(at))
    other = np.where((documents > 1) & (other >= own), other + 1, other)
    size = document_start[other + 1] - document_start[other]
    return document_start[other] + (generator.random(len(at)) * size).astype(np.int64)


def _truncate(start: Offsets, end: Offsets, room: int, generator: np.random.Generator) -> None:
    """Take tokens off the longer of the two, each from the front or the back with even odds, until the pair fits."""
    length = end - start
    excess = np.maximum(length.sum(1) - room, 0)
    gap = length[:, 0] - length[:, 1]
    even = np.maximum(excess - np.abs(gap), 0)  # taken in turn once both are equally long; B first
    alone = excess - even
    cut_a = np.where(gap > 0, alone, 0) + even // 2
    cut_b = np.where(gap > 0, 0, alone) + (even + 1) // 2
    for side, cut in ((0, cut_a), (1, cut_b)):
        front = generator.binomial(cut, 0.5)
        start[:, side] += front
        end[:, side] -= cut - front
