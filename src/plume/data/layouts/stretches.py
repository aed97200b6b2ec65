"""Stretches of the store: sentences that fit a row, and what layouts do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from plume.data.store import Store

Offsets = NDArray[np.int64]


def sentence_pieces(store: Store, *, longest: int) -> tuple[Offsets, Offsets, Offsets]:
    """Sentence bounds with those over `longest` cut in pieces, so that no text is lost: begin, end, first sentence of each document."""
    begin, end = np.asarray(store.sentence_start), np.asarray(store.sentence_end)
    pieces = -(-(end - begin) // longest)
    which = np.repeat(np.arange(len(begin)), pieces)
    within = np.arange(len(which)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    piece_begin = begin[which] + within * longest
    first = np.concatenate([[0], np.cumsum(pieces)])
    return piece_begin, np.minimum(piece_begin + longest, end[which]), first[np.asarray(store.document_start)]


def walk(following: Offsets, starts: Offsets) -> Offsets:
    """The sentences at which chunks really begin: from the start of each document along the `following` pointers."""
    visited = []
    pointers = following.tolist()
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        here = first
        while here < last:
            visited.append(here)
            here = pointers[here]
    return np.array(visited, np.int64)


def partners(at: Offsets, document_start: Offsets, generator: np.random.Generator) -> Offsets:
    """For each chunk a random sentence of another document; of the same one if there is only one, but a quarter of it away or more."""
    documents = len(document_start) - 1
    if documents == 1:
        total = int(document_start[1])
        near = min(max(total // 4, 1), total - 1)
        return (at + near + (generator.random(len(at)) * (total - 2 * near + 1)).astype(np.int64)) % total
    own = np.searchsorted(document_start, at, side="right") - 1
    other = generator.integers(0, documents - 1, len(at))
    other = np.where(other >= own, other + 1, other)
    size = document_start[other + 1] - document_start[other]
    return document_start[other] + (generator.random(len(at)) * size).astype(np.int64)


def truncate(start: Offsets, end: Offsets, room: int, generator: np.random.Generator) -> None:
    """Take tokens off the longer of the two, each from the front or the back with even odds, until the pair fits."""
    for side, cut in enumerate(cuts(end - start, room)):
        front = generator.binomial(cut, 0.5)
        start[:, side] += front
        end[:, side] -= cut - front


def cuts(length: Offsets, room: int) -> tuple[Offsets, Offsets]:
    """How many tokens two texts lose if one at a time is taken off the longer until both fit; of equally long ones the second is first."""
    excess = np.maximum(length.sum(1) - room, 0)
    gap = length[:, 0] - length[:, 1]
    even = np.maximum(excess - np.abs(gap), 0)  # taken in turn once both are equally long
    alone = excess - even
    return np.where(gap > 0, alone, 0) + even // 2, np.where(gap > 0, 0, alone) + (even + 1) // 2


def sentences_of(store: Store) -> Offsets:
    """How many sentences each document has."""
    return store.document_start[1:] - store.document_start[:-1]
