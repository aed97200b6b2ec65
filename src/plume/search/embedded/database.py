"""The sqlite file of an index: what is in it, and the one row that says which files and how many rows count."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.search.embedded import postings

FILE = "texts.sqlite"
_SCHEMA = """
CREATE TABLE state(one INTEGER PRIMARY KEY CHECK (one = 1), data TEXT NOT NULL);
CREATE TABLE columns(place INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, type TEXT NOT NULL);
CREATE TABLE documents(number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL);
CREATE TABLE passages(
    key INTEGER PRIMARY KEY, document INTEGER NOT NULL, number INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX passages_of ON passages(document);
CREATE TABLE gone(key INTEGER PRIMARY KEY);
CREATE TABLE checksums(first INTEGER PRIMARY KEY, rows INTEGER NOT NULL, checksum INTEGER NOT NULL);
"""


@dataclass(frozen=True, kw_only=True)
class Committed:
    """The state: a commit replaces it, and with it everything that it names."""

    rows: int = 0  # passages ever added since the last compaction; each has a vector in the file and, unless it is gone, a row in sqlite
    generation: int = 0  # of the file of vectors
    commits: int = 0
    ann: str | None = None  # the file that faiss made
    type: str | None = None  # its factory string
    built: int = 0  # rows in it; those behind are compared one by one
    trained: int = 0  # rows that there were when it was trained
    effort: int = 0  # how far to look
    refined: int = 1  # how many times as many to compare exactly as are wanted
    checksum: int = 0
    measured: tuple[dict[str, float | str], ...] = ()  # the table that the type was chosen from

    @property
    def vectors(self) -> str:
        """The name of the file of vectors."""
        return f"vectors-{self.generation}.f32"


def create(folder: Path) -> sqlite3.Connection:
    """An empty one."""
    with clear_database_errors(folder):
        database = _connect(folder / FILE)
        database.executescript(f"BEGIN; {_SCHEMA} {postings.SCHEMA}")
        database.execute("INSERT INTO state VALUES (1, ?)", (json.dumps(asdict(Committed())),))
        database.execute("COMMIT")
    return database


def connect(folder: Path) -> sqlite3.Connection:
    """One that is there."""
    if not (folder / FILE).exists():
        raise PlumeError(f"{folder / FILE} is missing: the index is incomplete. Restore it, or build the index again.")
    with clear_database_errors(folder):
        return _connect(folder / FILE)


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA mmap_size = 268435456")
    return database


def read_state(database: sqlite3.Connection) -> str:
    """As it is stored: two states are the same if this is."""
    found = database.execute("SELECT data FROM state").fetchone()
    if found is None:
        raise sqlite3.DatabaseError("malformed: it has no state")
    return found[0]


def parse_state(data: str) -> Committed:
    """The record of it."""
    values = json.loads(data)
    return Committed(**values | {"measured": tuple(values["measured"])})


def write_state(database: sqlite3.Connection, state: Committed) -> None:
    """In the transaction that is open."""
    database.execute("UPDATE state SET data = ?", (json.dumps(asdict(state)),))


@contextmanager
def clear_database_errors(folder: Path) -> Iterator[None]:
    """Turn sqlite's refusals into sentences for the user."""
    try:
        yield
    except sqlite3.OperationalError as error:
        said = str(error)
        if "full" in said or "disk I/O" in said:
            raise PlumeError(
                f"Cannot write {folder}: the disk is full ({said}). Free some space; what was committed before is intact."
            ) from None
        if "readonly" in said or "unable to open" in said:
            raise PlumeError(f"Cannot write {folder}: no permission ({said}). Change it, or copy the index elsewhere.") from None
        if "locked" in said:
            raise PlumeError(f"Another process is writing to {folder}: wait for it, then try again.") from None
        if "no such table" in said or "no such column" in said:
            raise _damaged(folder, error) from None
        raise
    except sqlite3.DatabaseError as error:
        if "malformed" in str(error) or "not a database" in str(error):
            raise _damaged(folder, error) from None
        raise


def _damaged(folder: Path, error: Exception) -> PlumeError:
    return PlumeError(f"{folder / FILE} is damaged ({error}): restore it, or build the index again.")
