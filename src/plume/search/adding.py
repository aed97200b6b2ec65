"""Documents on their way into a backend: cut into passages, embedded, checked, some thousands at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.search.backend import Backend, StoredPassage, Vectors
from plume.search.passages import cut_passages
from plume.search.schema import MetadataSchema
from plume.search.settings import IndexSettings, Metric
from plume.search.sources import SourceDocument

CHUNK, _CHARACTERS = 1_000, 2_000_000  # documents that are embedded together, and what they may hold
_COMMITTED = 5  # chunks a commit: what a kill loses at most


@dataclass(kw_only=True)
class Added:
    """What became of the documents."""

    documents: int = 0
    passages: int = 0
    empty: int = 0  # without text, passed over
    known: int = 0  # were there already, and passed over


@dataclass(frozen=True, kw_only=True)
class Addition:
    """How to add. `embed` gives texts their vectors; `vectors` are ready, one a document in order."""

    embed: Callable[[list[str]], Vectors] | None = None
    vectors: Vectors | None = None
    replace: bool = False  # documents of the same id
    skip: bool = False  # them, as they were added before
    shown: Callable[[Added], None] = lambda _: None


def add_documents(
    backend: Backend, settings: IndexSettings, documents: Iterable[SourceDocument], schema: MetadataSchema, how: Addition
) -> Added:
    """Committed every so often, and at the end."""
    added = Added()
    place = 0
    for number, chunk in enumerate(_chunks(documents), start=1):
        rows = None if how.vectors is None else _ready(how.vectors, place, chunk)
        place += len(chunk)
        _add_chunk(backend, settings, chunk, rows, schema, how, added)
        how.shown(added)
        if number % _COMMITTED == 0 and how.vectors is None:
            backend.commit()
    if how.vectors is not None and place != len(how.vectors):
        backend.rollback()
        raise PlumeError(f"{len(how.vectors):,} vectors for {place:,} documents: each document needs one, in the same order.")
    backend.commit()
    return added


def _chunks(documents: Iterable[SourceDocument]) -> Iterator[list[SourceDocument]]:
    chunk: list[SourceDocument] = []
    size = 0
    for document in documents:
        chunk.append(document)
        size += len(document.text)
        if len(chunk) == CHUNK or size >= _CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _ready(vectors: Vectors, place: int, chunk: list[SourceDocument]) -> Vectors:
    rows = np.asarray(vectors[place : place + len(chunk)], np.float32)
    if len(rows) < len(chunk):
        raise PlumeError(f"{chunk[len(rows)].place}: there are only {len(vectors):,} vectors; each document needs one, in the same order.")
    return rows


def _add_chunk(
    backend: Backend, settings: IndexSettings, chunk: list[SourceDocument], rows: Vectors | None, schema: MetadataSchema, how: Addition,
    added: Added,
) -> None:  # fmt: skip
    chunk, rows = _distinct(backend, chunk, rows, how, added)
    passages: list[StoredPassage] = []
    places: list[int] = []  # of each passage's document in the chunk
    for number, document in enumerate(chunk):
        metadata = schema.fit(document.metadata, document.place)
        spans = (
            [(0, len(document.text))] if rows is not None else cut_passages(document.text, words=settings.passage, overlap=settings.overlap)
        )
        if not spans:
            added.empty += 1
        else:
            added.documents += 1
        for part, (begin, end) in enumerate(spans):
            text = document.text[begin:end]
            passages.append(StoredPassage(document=document.id, number=part, text=text, start=begin, end=end, metadata=metadata))
            places.append(number)
    if changed := schema.take_changed():
        backend.declare(changed)
    if not passages:
        return
    vectors = None
    if settings.dimension is not None:
        assert rows is not None or how.embed is not None
        vectors = rows if rows is not None else how.embed([settings.embedded_text(one) for one in passages])  # type: ignore[misc]
        vectors = checked(vectors, settings, lambda row: f"{chunk[places[row]].place}: document '{chunk[places[row]].id}'")
    backend.add(passages, vectors)
    added.passages += len(passages)


def _distinct(
    backend: Backend, chunk: list[SourceDocument], rows: Vectors | None, how: Addition, added: Added
) -> tuple[list[SourceDocument], Vectors | None]:
    """Each id once; what is there already is refused, replaced or passed over."""
    seen: dict[str, str] = {}
    for document in chunk:
        if document.id in seen:
            raise PlumeError(
                f"{document.place}: the id '{document.id}' was given before, at {seen[document.id]}. Each document needs its own."
            )
        seen[document.id] = document.place
    known = backend.has(list(seen))
    if known and how.skip:
        kept = [place for place, document in enumerate(chunk) if document.id not in known]
        added.known += len(chunk) - len(kept)
        return [chunk[place] for place in kept], None if rows is None else rows[kept]
    if known and how.replace:
        backend.remove(sorted(known))
    elif known:
        first = next(document for document in chunk if document.id in known)
        raise PlumeError(
            f"{first.place}: there is a document '{first.id}' already. Ids must differ: give the document another id, replace the old one "
            "with 'plume index update', or, if an earlier try has added it, pass over all that are there with --resume."
        )
    return chunk, rows


def checked(vectors: Any, settings: IndexSettings, place: Callable[[int], str]) -> Vectors:
    """As the index stores them: of the right width, finite, normalised if the metric is cosine."""
    rows = np.asarray(vectors, np.float32)
    if rows.ndim != 2 or rows.shape[1] != settings.dimension:
        raise PlumeError(
            f"Vectors of shape {list(rows.shape)} do not fit an index of {settings.dimension} dimensions: embed with its own model."
        )
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise PlumeError(f"{place(int(np.argmin(finite)))} has a vector with NaN or infinity. Mend or remove it.")
    if settings.metric is Metric.COSINE:
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows
