"""The connections of an index in PostgreSQL: on one a state is read, on the other, while it is open, a change is written.

So threads that share an index read what was last committed; only the thread that makes a change sees it before that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from plume.core.errors import PlumeError
from plume.search.address import without_password
from plume.search.backends._postgresql_words import PostgreSQLWords
from plume.search.settings import IndexSettings
from plume.search.where.postgresql import cleaned


@dataclass(kw_only=True)
class _Link:
    """A connection, for one thread at a time."""

    connection: Any
    words: PostgreSQLWords | None
    guard: threading.RLock = field(default_factory=threading.RLock)
    depth: int = 0  # of the snapshots that are open
    reader: int | None = None  # the thread that has opened them


class PostgreSQLConnection:
    """Transactions, and errors in words."""

    def __init__(self, url: str, settings: IndexSettings, name: str) -> None:
        self.settings, self.name, self._at, self._url = settings, name, without_password(url), url
        self._writer: int | None = None  # the thread that makes a change
        self._writes: _Link | None = None  # connected when something is first written
        self._reads = self._connect()

    def _connect(self) -> _Link:
        with self._clear_errors():
            connection = _psycopg().connect(self._url, autocommit=True, connect_timeout=10)
            connection.execute("SELECT set_config('search_path', %s || ', ' || current_setting('search_path'), false)", [self.name])
        words = self.settings.words
        return _Link(connection=connection, words=None if words is None else PostgreSQLWords(connection, words))

    @property
    def _link(self) -> _Link:
        """The one that this thread has to use now."""
        if self._writer != threading.get_ident():
            return self._reads
        assert self._writes is not None
        return self._writes

    @property
    def _connection(self) -> Any:
        return self._link.connection

    @property
    def _words(self) -> PostgreSQLWords | None:
        return self._link.words

    def _execute(self, statement: str, values: Sequence[Any] | None = None) -> Any:
        return self._connection.execute(statement, None if values is None else [cleaned(value) for value in values])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A transaction that reads one state; in the thread that writes something, that is it."""
        link = self._link
        with link.guard, self._clear_errors():
            begins = link.depth == 0 and link is self._reads
            if begins:
                link.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            link.depth, link.reader = link.depth + 1, threading.get_ident()
            try:
                yield
            finally:
                link.depth -= 1
                if begins:
                    link.reader = None
                    if not link.connection.closed:
                        link.connection.execute("ROLLBACK")

    @contextmanager
    def _change(self) -> Iterator[None]:
        try:
            with self._clear_errors():
                if self._writer != threading.get_ident():
                    self._begin_writing()
                yield
        except BaseException:
            self.rollback()
            raise

    def _begin_writing(self) -> None:
        assert self._reads.reader != threading.get_ident(), "not while reading"
        assert self._writer is None, "one thread at a time: an Index sees to it"
        self._connect_to_write()
        self._writer = threading.get_ident()
        self._execute("BEGIN")
        if not self._execute("SELECT pg_try_advisory_xact_lock(hashtext(%s))", [self.name]).fetchone()[0]:
            raise PlumeError(f"Another process is writing to {self.name} at {self._at}: wait for it, then try again.")

    def _connect_to_write(self) -> _Link:
        if self._writes is None or self._writes.connection.closed:
            self._writes = self._connect()
        return self._writes

    def _execute_apart(self, statement: str) -> None:
        """Outside the change, at once: what it locks is free again, where within it readers would wait until it is committed. Only if the
        change has read or written no passages yet, because it would wait for itself."""
        held = "SELECT 1 FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'passages'::regclass"
        if self._execute(held).fetchone():
            self._execute(statement)
        else:
            with self._reads.guard:
                self._reads.connection.execute(statement)

    def _clean_up(self, statement: str) -> None:
        """What cannot be done in a transaction; threads that read need not wait for it."""
        with self._clear_errors():
            self._connect_to_write().connection.execute(statement)

    def commit(self) -> None:
        """The transaction's."""
        if self._writer == threading.get_ident():
            with self._change():
                if self._words is not None:
                    self._words.flush()
                self._execute("COMMIT")
                self._writer = None

    def rollback(self) -> None:
        """The transaction's."""
        if self._writer == threading.get_ident():
            link, self._writer = self._link, None
            if link.words is not None:
                link.words.forget()
            if not link.connection.closed:
                link.connection.execute("ROLLBACK")

    def close(self) -> None:
        """What was not committed is lost."""
        self._reads.connection.close()
        if self._writes is not None:
            self._writes.connection.close()

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        psycopg = _psycopg()
        try:
            yield
        except (psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedTable):
            raise PlumeError(f"The index {self.name} is not at {self._at}: it was removed there. Build it again.") from None
        except psycopg.errors.InsufficientPrivilege as error:
            raise PlumeError(f"{self._at} does not allow it: {_first_line(error)}. Ask its owner for the permission.") from None
        except (psycopg.errors.DiskFull, psycopg.errors.ReadOnlySqlTransaction) as error:
            raise PlumeError(f"{self._at} takes nothing: {_first_line(error)}. What was committed before is intact.") from None
        except psycopg.OperationalError as error:
            raise PlumeError(
                f"No answer from PostgreSQL at {self._at}: {_first_line(error)}. Is it running, and is the address right? "
                "A password comes from PGPASSWORD, ~/.pgpass or the URL in --backend."
            ) from None


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise PlumeError("An index in PostgreSQL needs psycopg: pip install 'plume-lm[postgresql]'.") from None
    return psycopg


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
