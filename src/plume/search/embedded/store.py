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
from pathlib import Path
from typing import Any, Self

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import clear_disk_errors, locked
from plume.search.backend import NONE, Matches, StoredPassage, Vectors
from plume.search.embedded import ann, building, checking, compacting, database
from plume.search.embedded.database import Committed, clear_database_errors, parse_state, read_state, write_state
from plume.search.embedded.finding import find
from plume.search.embedded.postings import WordsWriter
from plume.search.embedded.raw_vectors import RawVectors
from plume.search.embedded.snapshot import Snapshot
from plume.search.settings import IndexSettings
from plume.search.where.tree import Condition, MetadataType

_LOCK = "lock"
_AT_ONCE = 500  # names in one statement
_VERSION = "PRAGMA data_version"  # changes when another connection commits
_PASSAGE = """SELECT d.id, p.number, p.text, p.start, p."end", p.key{more} FROM passages AS p JOIN documents AS d ON d.number = p.document {rest}"""


class EmbeddedStore:
    """Opened for reading; the lock of the writer is taken by the first change and given back by `commit` or `rollback`."""

    def __init__(self, folder: Path, settings: IndexSettings, opened: sqlite3.Connection) -> None:
        self.folder, self.settings = folder, settings
        self._database = opened
        self._guard = threading.RLock()
        self._depth = 0
        self._writing: ExitStack | None = None
        self._pending = Committed()  # what is being written
        self._seen, self._version = "", -1
        self._snapshot: Snapshot | None = None
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
    def snapshot(self) -> Iterator[None]:
        """One committed state for all that is read within."""
        with self._guard, clear_database_errors(self.folder):
            if self._depth == 0 and self._writing is None:
                self._begin_reading()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and self._writing is None:
                    self._database.execute("COMMIT")

    def _begin_reading(self) -> None:
        for attempt in range(5):
            self._database.execute("BEGIN")
            try:
                seen = read_state(self._database)
                if seen != self._seen or self._snapshot is None:
                    self._snapshot = Snapshot(self.folder, self.settings, self._database, parse_state(seen))
                    self._seen = seen
                self._version = self._database.execute(_VERSION).fetchone()[0]
                return
            except FileNotFoundError:  # a writer has compacted, and another swept up, since the state was read
                self._database.execute("ROLLBACK")
                if attempt == 4:
                    raise
            except BaseException:
                self._database.execute("ROLLBACK")
                raise

    @property
    def _now(self) -> Snapshot:
        assert self._snapshot is not None and self._writing is None, "within a snapshot, and not while writing"
        return self._snapshot

    # Reading

    @property
    def columns(self) -> Mapping[str, MetadataType]:
        """Fields of metadata, with their types."""
        with self.snapshot():
            return {name: MetadataType(kind) for name, kind in self._database.execute("SELECT name, type FROM columns ORDER BY place")}

    def search_vectors(self, queries: Vectors, *, top: int, where: Condition | None = None, exact: bool = False) -> Matches:
        """The nearest passages of each query."""
        with self._guard:
            if where is None and self._is_current():
                return find(self._now, queries, top=top, allowed=self._now.alive, exact=exact)
        with self.snapshot():
            return find(self._now, queries, top=top, allowed=self._now.allowed(where), exact=exact)

    def _is_current(self) -> bool:
        """Has nobody committed since the snapshot was read, so that no transaction is needed to read it again? It is a third of the time."""
        if self._snapshot is None or self._writing is not None or "alive" not in self._snapshot.__dict__:
            return False
        return self._depth > 0 or self._database.execute(_VERSION).fetchone()[0] == self._version

    def search_words(self, queries: Sequence[str], *, top: int, where: Condition | None = None) -> Matches:
        """The best passages by BM25."""
        keys, scores = np.full((len(queries), top), NONE, np.int64), np.full((len(queries), top), -np.inf, np.float32)
        with self.snapshot():
            allowed = self._now.allowed(where)
            for number, query in enumerate(queries):
                found, how = self._now.words.best(query, top=top, allowed=None if allowed is None else allowed[0])
                keys[number, : len(found)], scores[number, : len(found)] = found, how
        return Matches(keys, scores)

    def get(self, keys: Sequence[int]) -> list[StoredPassage]:
        """In the same order."""
        with self.snapshot():
            found: dict[int, StoredPassage] = {}
            for begin in range(0, len(keys), _AT_ONCE):
                some = [int(key) for key in keys[begin : begin + _AT_ONCE]]
                found |= dict(self._read(f"WHERE p.key IN ({','.join('?' * len(some))})", some))
            return [found[int(key)] for key in keys]

    def _read(self, rest: str, values: Sequence[Any] = ()) -> Iterator[tuple[int, StoredPassage]]:
        names = self._database.execute("SELECT name, type, place FROM columns ORDER BY place").fetchall()
        more = "".join(f", d.m{place}" for _, _, place in names)
        statement = _PASSAGE.format(more=more, rest=rest)
        for identity, number, text, start, end, key, *metadata in self._database.execute(statement, values):
            known = {name: _value(value, kind) for (name, kind, _), value in zip(names, metadata, strict=True) if value is not None}
            yield key, StoredPassage(document=identity, number=number, text=text, start=start, end=end, metadata=known)

    def has(self, documents: Sequence[str]) -> set[str]:
        """Those of them that are there."""
        with self.snapshot():
            return {identity for identity, _ in self._numbers(documents)}

    def _numbers(self, documents: Sequence[str]) -> Iterator[tuple[str, int]]:
        for begin in range(0, len(documents), _AT_ONCE):
            some = documents[begin : begin + _AT_ONCE]
            yield from self._database.execute(f"SELECT id, number FROM documents WHERE id IN ({','.join('?' * len(some))})", some)

    def passages(self, documents: Sequence[str] | None = None) -> Iterator[StoredPassage]:
        """In the order in which they were added."""
        with self.snapshot():
            if documents is None:
                yield from (one for _, one in self._read("ORDER BY p.key"))
                return
            for begin in range(0, len(documents), _AT_ONCE):
                some = documents[begin : begin + _AT_ONCE]
                yield from (one for _, one in self._read(f"WHERE d.id IN ({','.join('?' * len(some))}) ORDER BY p.key", some))

    def count(self) -> tuple[int, int]:
        """Documents and passages."""
        with self.snapshot():
            return self._database.execute("SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM passages)").fetchone()

    def info(self) -> dict[str, Any]:
        """Type, rows, bytes."""
        with self.snapshot():
            bytes_ = {one.name: one.stat().st_size for one in sorted(self.folder.iterdir()) if one.is_file() and one.stat().st_size}
            return self._now.figures() | {"bytes": sum(bytes_.values()), "files": bytes_}

    def check(self) -> list[str]:
        """What is wrong."""
        try:
            with self.snapshot():
                return checking.problems(self.folder, self._database, self._now)
        except PlumeError as error:  # it cannot even be opened
            return [str(error)]

    # Writing

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
        held.enter_context(locked(self.folder / _LOCK, f"Another process is writing to {self.folder}: wait for it, then try again."))
        try:
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
            numbers = [(number,) for _, number in self._numbers(documents)]
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


def _value(value: Any, kind: str) -> Any:
    match kind:
        case MetadataType.LIST:
            return json.loads(value)
        case MetadataType.BOOL:
            return bool(value)
    return value
