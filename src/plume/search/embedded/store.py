"""The embedded backend: a folder that one process writes and several read.

Adding appends to the file of vectors behind what counts, and to sqlite in one transaction; committing it is what makes both count. Whatever a
killed process left behind that is overwritten or swept away by the next writer. Readers keep to the state that they have begun to read.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from plume.core.files import clear_disk_errors
from plume.search.backend import StoredPassage, Vectors
from plume.search.embedded import ann, building, compacting, database, types
from plume.search.embedded.database import Committed, clear_database_errors, parse_state, read_state, write_state
from plume.search.embedded.postings import WordsWriter
from plume.search.embedded.raw_vectors import RawVectors
from plume.search.embedded.reading import StoreReader, numbers_of
from plume.search.settings import IndexSettings, writer_lock
from plume.search.where.tree import MetadataType


class EmbeddedStore(StoreReader):
    """Opened for reading; the lock of the writer is taken by the first change and given back by `commit` or `rollback`.

    A change has a connection of its own, so that other threads search what was last committed while this one writes.
    """

    def __init__(self, folder: Path, settings: IndexSettings, opened: sqlite3.Connection) -> None:
        super().__init__(folder, settings, opened)
        self._changing = threading.RLock()
        self._writing: ExitStack | None = None  # what a change that is under way holds
        self._pending = Committed()  # what is being written

    @cached_property
    def _writer(self) -> sqlite3.Connection:
        return database.connect(self.folder)

    @cached_property
    def _words(self) -> WordsWriter | None:
        return None if self.settings.words is None else WordsWriter(self._writer, self.settings.words)

    @classmethod
    def create(cls, folder: Path, settings: IndexSettings) -> Self:
        """An empty index in a folder that is there. A type that faiss does not know is refused before anything is embedded."""
        if settings.dimension is not None and settings.type != building.AUTO:
            ann.declared(
                types.factory(settings.type, dimension=settings.dimension, rows=building.SMALL), settings.dimension, settings.metric
            )
        return cls(folder, settings, database.create(folder))

    @classmethod
    def open(cls, folder: Path, settings: IndexSettings) -> Self:
        """What `create` made."""
        return cls(folder, settings, database.connect(folder))

    @contextmanager
    def _change(self) -> Iterator[None]:
        """What is done within is of the change that is under way, or begins one; if it fails, the change is forgotten."""
        with self._changing:
            try:
                with clear_database_errors(self.folder), clear_disk_errors(self.folder):
                    if self._writing is None:
                        self._begin_writing()
                    yield
            except BaseException:
                self.rollback()
                raise

    def _begin_writing(self) -> None:
        with ExitStack() as held:
            held.enter_context(writer_lock(self.folder))
            self._require_same()
            self._writer.execute("BEGIN IMMEDIATE")
            self._writing = held.pop_all()
        self._pending = parse_state(read_state(self._writer))
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
            known = {name: (kind, place) for name, kind, place in self._writer.execute("SELECT name, type, place FROM columns")}
            for name, kind in columns.items():
                if name not in known:
                    place = self._writer.execute("INSERT INTO columns(name, type) VALUES (?, ?)", (name, kind.value)).lastrowid
                    self._writer.execute(f"ALTER TABLE documents ADD COLUMN m{place:d}")
                elif known[name][0] != kind.value:
                    self._writer.execute("UPDATE columns SET type = ? WHERE name = ?", (kind.value, name))

    def add(self, passages: Sequence[StoredPassage], vectors: Vectors | None) -> None:
        """Whole documents that are not there yet."""
        if not passages:
            return
        with self._change():
            first = self._pending.rows
            if self._raw is not None:
                assert vectors is not None and vectors.shape == (len(passages), self.settings.dimension)
                checksum = self._raw.write(first, vectors)
                self._writer.execute("INSERT INTO checksums VALUES (?, ?, ?)", (first, len(passages), checksum))
            self._insert(first, passages)
            if self._words is not None:
                self._words.add(first, [passage.text for passage in passages])
            self._pending = replace(self._pending, rows=first + len(passages))

    def _insert(self, first: int, passages: Sequence[StoredPassage]) -> None:
        columns = self._writer.execute("SELECT name, type, place FROM columns ORDER BY place").fetchall()
        names = "".join(f", m{place}" for _, _, place in columns)
        statement = f"INSERT INTO documents(id{names}) VALUES (?{', ?' * len(columns)})"
        numbers: dict[str, int] = {}
        for passage in passages:
            if passage.document not in numbers:
                values = [_stored(passage.metadata.get(name)) for name, _, _ in columns]
                numbers[passage.document] = self._writer.execute(statement, [passage.document, *values]).lastrowid or 0
        self._writer.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?)",
            ((key, numbers[one.document], one.number, one.start, one.end, one.text) for key, one in enumerate(passages, first)),
        )

    def has(self, documents: Sequence[str]) -> set[str]:
        """Those of them that are there, or will be with the change that is under way."""
        if self._writing is None:
            return super().has(documents)
        with self._changing:
            return {identity for identity, _ in numbers_of(self._writer, documents)}

    def remove(self, documents: Sequence[str]) -> int:
        """All passages of these."""
        with self._change():
            numbers = [(number,) for _, number in numbers_of(self._writer, list(dict.fromkeys(documents)))]
            self._writer.executemany("INSERT INTO gone SELECT key FROM passages WHERE document = ?", numbers)
            self._writer.executemany("DELETE FROM passages WHERE document = ?", numbers)
            self._writer.executemany("DELETE FROM documents WHERE number = ?", numbers)
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
            write_state(self._writer, replace(self._pending, commits=self._pending.commits + 1))
            self._writer.execute("COMMIT")
        self._end_writing()

    def rollback(self) -> None:
        """Forget what came since the last commit."""
        if self._writing is None:
            return
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")
        self._end_writing()

    def _end_writing(self) -> None:
        if self._words is not None:
            self._words.forget()
        assert self._writing is not None
        self._writing.close()
        self._writing = None

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
            self._pending = compacting.compact(self.folder, self.settings, self._writer, self._pending)
            self.commit()
        self.prepare()

    def close(self) -> None:
        """What was not committed is lost."""
        self.rollback()
        self._snapshot = None
        self._database.close()
        if "_writer" in self.__dict__:
            self._writer.close()


def _stored(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else value
