"""The embedded backend: a folder that one process writes and several read.

Adding appends to the file of vectors behind what counts, and to sqlite in one transaction; committing it is what makes both count. Whatever a
killed process left behind that is overwritten or swept away by the next writer. Readers keep to the state that they have begun to read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from plume.core.files import clear_disk_errors, locked
from plume.search.backend import StoredPassage, Vectors
from plume.search.embedded import ann, building, compacting, database
from plume.search.embedded.database import Committed, clear_database_errors, parse_state, read_state, write_state
from plume.search.embedded.postings import WordsWriter
from plume.search.embedded.raw_vectors import RawVectors
from plume.search.embedded.reading import StoreReader
from plume.search.settings import LOCK, IndexSettings
from plume.search.where.tree import MetadataType


class EmbeddedStore(StoreReader):
    """Opened for reading; the lock of the writer is taken by the first change and given back by `commit` or `rollback`."""

    def __init__(self, folder: Path, settings: IndexSettings, opened: sqlite3.Connection) -> None:
        super().__init__(folder, settings, opened)
        self._pending = Committed()  # what is being written
        self._words = None if settings.words is None else WordsWriter(opened, settings.words)

    @classmethod
    def create(cls, folder: Path, settings: IndexSettings) -> Self:
        """An empty index in a folder that is there. A type that faiss does not know is refused before anything is embedded."""
        if settings.dimension is not None and settings.type != building.AUTO:
            ann.declared(ann.factory(settings.type, dimension=settings.dimension, rows=building.SMALL), settings.dimension, settings.metric)
        return cls(folder, settings, database.create(folder))

    @classmethod
    def open(cls, folder: Path, settings: IndexSettings) -> Self:
        """What `create` made."""
        return cls(folder, settings, database.connect(folder))

    @contextmanager
    def _change(self) -> Iterator[None]:
        """What is done within is of the change that is under way, or begins one; if it fails, the change is forgotten."""
        with self._guard:
            try:
                with clear_database_errors(self.folder), clear_disk_errors(self.folder):
                    if self._writing is None:
                        self._begin_writing()
                    yield
            except BaseException:
                self.rollback()
                raise

    def _begin_writing(self) -> None:
        assert self._depth == 0, "not while reading"
        held = ExitStack()
        held.enter_context(locked(self.folder / LOCK, f"Another process is writing to {self.folder}: wait for it, then try again."))
        try:
            self._require_same()
            self._database.execute("BEGIN IMMEDIATE")
            self._pending = parse_state(read_state(self._database))
        except BaseException:
            held.close()
            raise
        self._writing = held
        self._sweep()
        if self._raw is not None:
            self._raw.truncate(self._pending.rows)

    def _sweep(self) -> None:
        """Files of states that are gone, or never came to be."""
        kept = {self._pending.vectors, self._pending.ann}
        for pattern in ("vectors-*.f32", "ann-*.faiss", ".*.tmp"):
            for file in self.folder.glob(pattern):
                if file.name not in kept:
                    file.unlink(missing_ok=True)

    @property
    def _raw(self) -> RawVectors | None:
        dimension = self.settings.dimension
        return None if dimension is None else RawVectors(self.folder / self._pending.vectors, dimension)

    def declare(self, columns: Mapping[str, MetadataType]) -> None:
        """New fields, or INT that becomes REAL."""
        with self._change():
            known = {name: (kind, place) for name, kind, place in self._database.execute("SELECT name, type, place FROM columns")}
            for name, kind in columns.items():
                if name not in known:
                    place = self._database.execute("INSERT INTO columns(name, type) VALUES (?, ?)", (name, kind.value)).lastrowid
                    self._database.execute(f"ALTER TABLE documents ADD COLUMN m{place:d}")
                elif known[name][0] != kind.value:
                    self._database.execute("UPDATE columns SET type = ? WHERE name = ?", (kind.value, name))

    def add(self, passages: Sequence[StoredPassage], vectors: Vectors | None) -> None:
        """Whole documents that are not there yet."""
        if not passages:
            return
        with self._change():
            first = self._pending.rows
            if self._raw is not None:
                assert vectors is not None and vectors.shape == (len(passages), self.settings.dimension)
                checksum = self._raw.write(first, vectors)
                self._database.execute("INSERT INTO checksums VALUES (?, ?, ?)", (first, len(passages), checksum))
            self._insert(first, passages)
            if self._words is not None:
                self._words.add(first, [passage.text for passage in passages])
            self._pending = replace(self._pending, rows=first + len(passages))

    def _insert(self, first: int, passages: Sequence[StoredPassage]) -> None:
        columns = self._database.execute("SELECT name, type, place FROM columns ORDER BY place").fetchall()
        names = "".join(f", m{place}" for _, _, place in columns)
        statement = f"INSERT INTO documents(id{names}) VALUES (?{', ?' * len(columns)})"
        numbers: dict[str, int] = {}
        for passage in passages:
            if passage.document not in numbers:
                values = [_stored(passage.metadata.get(name)) for name, _, _ in columns]
                numbers[passage.document] = self._database.execute(statement, [passage.document, *values]).lastrowid or 0
        self._database.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?)",
            ((key, numbers[one.document], one.number, one.start, one.end, one.text) for key, one in enumerate(passages, first)),
        )

    def remove(self, documents: Sequence[str]) -> int:
        """All passages of these."""
        with self._change():
            numbers = [(number,) for _, number in self._numbers(list(dict.fromkeys(documents)))]
            self._database.executemany("INSERT INTO gone SELECT key FROM passages WHERE document = ?", numbers)
            self._database.executemany("DELETE FROM passages WHERE document = ?", numbers)
            self._database.executemany("DELETE FROM documents WHERE number = ?", numbers)
        return len(numbers)

    def commit(self) -> None:
        """What came since the last counts from here on."""
        if self._writing is None:
            return
        with self._change():
            if self._words is not None:
                self._words.flush()
            if self._raw is not None and self._raw.path.exists():
                self._raw.flush()
            write_state(self._database, replace(self._pending, commits=self._pending.commits + 1))
            self._database.execute("COMMIT")
        self._end_writing()

    def rollback(self) -> None:
        """Forget what came since the last commit."""
        if self._writing is None:
            return
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        self._end_writing()

    def _end_writing(self) -> None:
        if self._words is not None:
            self._words.forget()
        assert self._writing is not None
        self._writing.close()
        self._writing = None
        self._version = -1

    def prepare(self) -> str | None:
        """Build what faiss searches, where enough has been added since."""
        if self.settings.dimension is None:
            return None
        with self._change():
            built = building.build(self.folder, self.settings, self._pending)
            if built.state is None:
                self.rollback()
                return built.said
            self._pending = built.state
            self.commit()
        return built.said

    def compact(self) -> None:
        """Write everything anew without what was removed."""
        with self._change():
            self._pending = compacting.compact(self.folder, self.settings, self._database, self._pending)
            self.commit()
        self.prepare()

    def close(self) -> None:
        """What was not committed is lost."""
        self.rollback()
        self._snapshot = None
        self._database.close()


def _stored(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
