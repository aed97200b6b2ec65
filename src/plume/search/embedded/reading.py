"""Reading an embedded index: one committed state at a time, which whoever writes does not disturb."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.search.backend import NONE, Matches, StoredPassage, Vectors
from plume.search.embedded import checking
from plume.search.embedded.database import FILE, clear_database_errors, parse_state, read_state
from plume.search.embedded.finding import find
from plume.search.embedded.snapshot import Snapshot
from plume.search.settings import IndexSettings
from plume.search.where.tree import Condition, MetadataType

AT_ONCE = 500  # names in one statement
_VERSION = "PRAGMA data_version"  # changes when another connection commits
_PASSAGE = """SELECT d.id, p.number, p.text, p.start, p."end", p.key{more} FROM passages AS p JOIN documents AS d ON d.number = p.document {rest}"""


class StoreReader:
    """What of an embedded store only reads."""

    def __init__(self, folder: Path, settings: IndexSettings, opened: sqlite3.Connection) -> None:
        self.folder, self.settings = folder, settings
        self._database = opened
        self._guard = threading.RLock()
        self._depth = 0
        self._seen, self._version = "", -1
        self._opened = _identity(folder)
        self._snapshot: Snapshot | None = None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One committed state for all that is read within."""
        with self._guard, clear_database_errors(self.folder):
            if self._depth == 0:
                self._begin_reading()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._database.execute("COMMIT")

    def _begin_reading(self) -> None:
        for attempt in range(5):
            self._database.execute("BEGIN")
            try:
                seen = read_state(self._database)
                if seen != self._seen or self._snapshot is None:
                    self._require_same()
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

    def _require_same(self) -> None:
        """The files that a state names are looked for by their path: they must be those beside the database that was opened."""
        if _identity(self.folder) != self._opened:
            raise PlumeError(f"{self.folder} was replaced by another index since it was opened: open it again.")

    @property
    def _now(self) -> Snapshot:
        assert self._snapshot is not None, "within a snapshot"
        return self._snapshot

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
        """Has nobody committed since the snapshot was read, so that no transaction is needed to read it again?"""
        if self._snapshot is None:
            return False
        return self._depth > 0 or self._database.execute(_VERSION).fetchone()[0] == self._version

    def search_words(self, queries: Sequence[str], *, top: int, where: Condition | None = None) -> Matches:
        """The best passages by BM25."""
        keys, scores = np.full((len(queries), top), NONE, np.int64), np.full((len(queries), top), -np.inf, np.float32)
        with self.snapshot():
            allowed = self._now.allowed(where)
            for number, query in enumerate(queries):
                found, how = self._now.words.best(query, top=top, allowed=None if allowed is None else allowed.mask)
                keys[number, : len(found)], scores[number, : len(found)] = found, how
        return Matches(keys, scores)

    def get(self, keys: Sequence[int]) -> list[StoredPassage]:
        """In the same order."""
        with self.snapshot():
            found: dict[int, StoredPassage] = {}
            for begin in range(0, len(keys), AT_ONCE):
                some = [int(key) for key in keys[begin : begin + AT_ONCE]]
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
            return {identity for identity, _ in numbers_of(self._database, documents)}

    def passages(self, documents: Sequence[str] | None = None) -> Iterator[StoredPassage]:
        """In the order in which they were added."""
        with self.snapshot():
            if documents is None:
                yield from (one for _, one in self._read("ORDER BY p.key"))
                return
            for begin in range(0, len(documents), AT_ONCE):
                some = documents[begin : begin + AT_ONCE]
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


def numbers_of(database: sqlite3.Connection, documents: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The ids of these documents that are there, each with its number."""
    for begin in range(0, len(documents), AT_ONCE):
        some = documents[begin : begin + AT_ONCE]
        yield from database.execute(f"SELECT id, number FROM documents WHERE id IN ({','.join('?' * len(some))})", some)


def _value(value: Any, kind: str) -> Any:
    match kind:
        case MetadataType.LIST:
            return json.loads(value)
        case MetadataType.BOOL:
            return bool(value)
    return value


def _identity(folder: Path) -> tuple[int, int]:
    found = (folder / FILE).stat()
    return found.st_dev, found.st_ino
