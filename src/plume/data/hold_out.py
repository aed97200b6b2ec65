"""Which sentences are held out from training: a rule that depends on the text only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.data.encoder import EncodedDocuments, concatenate

EVERY = 100  # with so many documents, every hundredth is held out, from the first on: there always is one
LONG = 10  # with fewer, the end of each document of so many sentences …
SHARE = 0.03  # … that is, this share of its sentences


@dataclass(frozen=True, kw_only=True)
class HoldOutPiece:
    """Some documents, all of them held out or none."""

    encoded: EncodedDocuments
    held_out: bool


def split_off(chunks: Iterable[EncodedDocuments], *, documents: int, whole: bool = False) -> Iterator[HoldOutPiece]:
    """Each chunk as a training piece and a held-out piece. If no document is long, the end of the whole corpus is held out.

    With `whole` a document is never cut: both sides of a pair are trained on or neither.
    """
    return _by_document(chunks) if whole or documents >= EVERY else _by_sentence(chunks)


def _by_document(chunks: Iterable[EncodedDocuments]) -> Iterator[HoldOutPiece]:
    seen, before = 0, -1
    for chunk in chunks:
        # Documents of one text go together: what is held out must not be trained on under another label.
        number = seen + np.cumsum(np.diff(chunk.document_text, prepend=before) != 0) - 1
        if len(number):
            seen, before = int(number[-1]) + 1, int(chunk.document_text[-1])
        yield from _parted(chunk, (number % EVERY == 0)[chunk.document_of_sentence()])


def _by_sentence(chunks: Iterable[EncodedDocuments]) -> Iterator[HoldOutPiece]:
    short: list[EncodedDocuments] = []  # few: less than a hundred documents of less than ten sentences
    any_long = False
    for chunk in chunks:
        if not any_long and (chunk.document_length < LONG).all():
            short.append(chunk)
            continue
        if not any_long:
            yield from (HoldOutPiece(encoded=before, held_out=False) for before in short)
        any_long = True
        yield from _parted(chunk, _ends_of_documents(chunk))
    if short and not any_long:
        whole = concatenate(short)
        sentences = len(whole.sentence_length)
        yield from _parted(whole, np.arange(sentences) >= sentences - _held(sentences))


def _ends_of_documents(chunk: EncodedDocuments) -> NDArray[np.bool_]:
    length = chunk.document_length
    held = np.where(length >= LONG, np.maximum(1, np.round(SHARE * length)), 0)
    end = np.cumsum(length)
    owner = chunk.document_of_sentence()
    return np.arange(len(owner)) >= (end - held)[owner]


def _held(sentences: int) -> int:
    return max(1, round(SHARE * sentences))


def _parted(chunk: EncodedDocuments, held_out: NDArray[np.bool_]) -> Iterator[HoldOutPiece]:
    if held_out.any():
        yield HoldOutPiece(encoded=chunk.select(held_out), held_out=True)
    if not held_out.all():
        yield HoldOutPiece(encoded=chunk.select(~held_out), held_out=False)
