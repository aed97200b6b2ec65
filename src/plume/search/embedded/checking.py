"""Does what is in the folder agree: texts, words, vectors, metadata, and the checksums of the files?"""

from __future__ import annotations

import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.search.embedded import ann
from plume.search.embedded.building import file_checksum
from plume.search.embedded.postings import unpack
from plume.search.embedded.raw_vectors import RawVectors
from plume.search.embedded.snapshot import Snapshot
from plume.search.terms import terms

_LOOKED_AT = 500  # passages whose words are looked up one by one


def problems(folder: Path, database: sqlite3.Connection, snapshot: Snapshot) -> list[str]:
    """A sentence each."""
    try:
        return [*_texts(database, snapshot), *_vectors(folder, database, snapshot), *_words(database, snapshot)]
    except (sqlite3.DatabaseError, PlumeError) as error:
        return [str(error)]


def _texts(database: sqlite3.Connection, snapshot: Snapshot) -> Iterator[str]:
    for (said,) in database.execute("PRAGMA quick_check(5)"):
        if said != "ok":
            yield f"sqlite: {said}"
    rows = snapshot.state.rows
    count, first, last = database.execute("SELECT count(*), coalesce(min(key), 0), coalesce(max(key), -1) FROM passages").fetchone()
    gone, both = database.execute(
        "SELECT count(*), (SELECT count(*) FROM passages WHERE key IN (SELECT key FROM gone)) FROM gone"
    ).fetchone()
    if count + gone != rows or first < 0 or last >= rows or both:
        yield f"{count:,} passages and {gone:,} removed ones do not make the {rows:,} rows that were committed."
    lost = database.execute("SELECT count(*) FROM passages WHERE document NOT IN (SELECT number FROM documents)").fetchone()[0]
    bare = database.execute("SELECT count(*) FROM documents WHERE number NOT IN (SELECT document FROM passages)").fetchone()[0]
    if lost or bare:
        yield f"{lost:,} passages belong to no document, and {bare:,} documents have no passage."


def _vectors(folder: Path, database: sqlite3.Connection, snapshot: Snapshot) -> Iterator[str]:
    state, dimension = snapshot.state, snapshot.settings.dimension
    if dimension is None:
        return
    raw, expected = RawVectors(folder / state.vectors, dimension), 0
    for first, rows, checksum in database.execute("SELECT first, rows, checksum FROM checksums ORDER BY first"):
        if first != expected:
            yield f"No checksum for the vectors {expected:,} to {first:,}."
        expected, found, finite = first + rows, 0, True
        for _, block in raw.blocks(first, first + rows):
            found = zlib.crc32(block.tobytes(), found)
            finite = finite and bool(np.isfinite(block).all())
        if found != checksum:
            yield f"{raw.path}: the vectors {first:,} to {first + rows:,} are not those that were written."
        if not finite:
            yield f"{raw.path}: some of the vectors {first:,} to {first + rows:,} hold NaN or infinity."
    if expected != state.rows:
        yield f"{expected:,} vectors have a checksum, but {state.rows:,} were committed."
    if state.ann is not None:
        if snapshot.searcher is None or ann.size(snapshot.searcher.index) != state.built:
            yield f"{state.ann} does not hold the {state.built:,} vectors that it was built from."
        if file_checksum(folder / state.ann) != state.checksum:
            yield f"{state.ann} is not the file that was written: 'plume index compact' builds it again."


def _words(database: sqlite3.Connection, snapshot: Snapshot) -> Iterator[str]:
    analysis, rows = snapshot.settings.words, snapshot.state.rows
    if analysis is None:
        return
    covered = sum(len(data) // 4 for (data,) in database.execute("SELECT data FROM lengths"))
    if covered != rows:
        yield f"The words of {covered:,} passages are known, but {rows:,} were committed."
    held = sum(len(data) // 5 for (data,) in database.execute("SELECT data FROM postings"))
    inside = database.execute(
        "SELECT count(*) FROM segments AS a JOIN segments AS b ON a.segment < b.segment AND a.low <= b.high AND b.low <= a.high"
    ).fetchone()[0]
    if inside:
        yield "Segments of words overlap."
    step = max(1, rows // _LOOKED_AT)
    for key, text in database.execute("SELECT key, text FROM passages WHERE key % ? = 0", (step,)):
        missing = [term for term, count in Counter(terms(text, analysis)).items() if not _holds(database, term, key, count)]
        if missing:
            yield f"Passage {key} is not found by its word '{missing[0]}' ({held:,} entries in all)."
            return


def _holds(database: sqlite3.Connection, term: str, key: int, count: int) -> bool:
    for (data,) in database.execute("SELECT data FROM postings WHERE term = ?", (term,)):
        keys, counts = unpack(data)
        if len(at := np.flatnonzero(keys == key)):
            return bool(counts[at[0]] == min(count, 255))
    return False
