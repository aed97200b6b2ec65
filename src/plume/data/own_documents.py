"""Which of the documents that are retrieved from does a text of the corpus come from? It must not be its own evidence (REALM §3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plume.data.blocks import Numbers, TextBlocks
from plume.data.layouts.carried import NONE, OWN_DOCUMENT

if TYPE_CHECKING:
    from plume.data.store import Store

_COMMON = 20  # a sentence that stands in more documents than this does not say which it comes from
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd: it has an inverse among 64-bit numbers
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))
Hashes = NDArray[np.uint64]


def mark_own_documents(store: Store, blocks: TextBlocks) -> float:
    """Write into the store, for every token, the document that its own document is among `blocks`; -1: none. Returns the share that is found.

    It is the one with most sentences in common, word for word: corpus and documents may be cut and ordered differently, and need no ids.
    """
    text = np.asarray(store.tokens)
    found = _best(
        _hashed(text, np.asarray(store.sentence_start), np.asarray(store.sentence_end)),
        np.repeat(np.arange(len(store.document_start) - 1), np.diff(store.document_start)),
        _hashed(blocks.sentences.tokens, blocks.sentences.start, blocks.sentences.end),
        blocks.sentence_document,
        documents=len(store.document_start) - 1,
    )
    bounds = np.append(np.asarray(store.sentence_start)[np.asarray(store.document_start[:-1])], len(text))
    store.named = store.named | {OWN_DOCUMENT: np.repeat(found, np.diff(bounds))}
    if bounds[0]:
        store.named[OWN_DOCUMENT] = np.concatenate([np.full(bounds[0], NONE), store.named[OWN_DOCUMENT]])
    return float((found != NONE).mean()) if len(found) else 0.0


def _best(ours: Hashes, our_document: Numbers, theirs: Hashes, their_document: Numbers, *, documents: int) -> Numbers:
    """[documents] of theirs the one with most of our sentences, the first of equals."""
    pairs = np.unique(np.stack([theirs, their_document.astype(np.uint64)], axis=1), axis=0)  # a document counts once for a sentence
    first, last = (np.searchsorted(pairs[:, 0], ours, side=side) for side in ("left", "right"))
    size = np.where(last - first > _COMMON, 0, last - first)
    place = np.repeat(first, size) + np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    votes, count = np.unique(
        np.stack([np.repeat(our_document, size), pairs[place, 1].astype(np.int64)], axis=1), axis=0, return_counts=True
    )
    found = np.full(documents, NONE, np.int64)
    order = np.lexsort([-votes[:, 1], count])  # the most votes last, and of equals the lower number
    found[votes[order, 0]] = votes[order, 1]
    return found


def _hashed(tokens: NDArray[np.generic], start: Numbers, end: Numbers) -> Hashes:
    """[n] one 64-bit number for each stretch: a polynomial of its tokens, all stretches from one running sum."""
    with np.errstate(over="ignore"):
        mixed = (tokens.astype(np.uint64) + np.uint64(1)) * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
        power = np.full(len(tokens) + 1, _BASE)
        power[:1] = 1
        back = np.full(len(tokens) + 1, _INVERSE)
        back[:1] = 1
        np.cumprod(power, out=power)
        np.cumprod(back, out=back)
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed * power[:-1], dtype=np.uint64)])
        return np.asarray((total[end] - total[start]) * back[start] + (end - start).astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F))
