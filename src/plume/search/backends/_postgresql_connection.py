"""The connection of an index in PostgreSQL, on which either one state is read or one change is written."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from plume.core.errors import PlumeError
from plume.search.address import without_password
from plume.search.backends._postgresql_words import PostgreSQLWords
from plume.search.settings import IndexSettings
from plume.search.where.postgresql import cleaned


class PostgreSQLConnection:
    """Transactions, and errors in words."""

    def __init__(self, url: str, settings: IndexSettings, name: str) -> None:
        self.settings, self.name, self._at = settings, name, without_password(url)
        self._guard = threading.RLock()
        self._depth, self._writing = 0, False
        with self._clear_errors():
            self._connection = _psycopg().connect(url, autocommit=True, connect_timeout=10)
            self._execute("SELECT set_config('search_path', %s || ', ' || current_setting('search_path'), false)", [name])
        self._words = None if settings.words is None else PostgreSQLWords(self._connection, settings.words)

    def _execute(self, statement: str, values: Sequence[Any] | None = None) -> Any:
        return self._connection.execute(statement, None if values is None else [cleaned(value) for value in values])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A transaction that reads one state; while something is written, that is it."""
        with self._guard, self._clear_errors():
            begins = self._depth == 0 and not self._writing
            if begins:
                self._execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if begins and not self._connection.closed:
                    self._execute("ROLLBACK")

    @contextmanager
    def _change(self) -> Iterator[None]:
        with self._guard:
            try:
                with self._clear_errors():
                    if not self._writing:
                        self._begin_writing()
                    yield
            except BaseException:
                self.rollback()
                raise

    def _begin_writing(self) -> None:
        assert self._depth == 0, "not while reading"
        self._execute("BEGIN")
        self._writing = True
        if not self._execute("SELECT pg_try_advisory_xact_lock(hashtext(%s))", [self.name]).fetchone()[0]:
            raise PlumeError(f"Another process is writing to {self.name} at {self._at}: wait for it, then try again.")

    def commit(self) -> None:
        """The transaction's."""
        if self._writing:
            with self._change():
                if self._words is not None:
                    self._words.flush()
                self._execute("COMMIT")
                self._writing = False

    def rollback(self) -> None:
        """The transaction's."""
        if self._writing:
            self._writing = False
            if self._words is not None:
                self._words.forget()
            if not self._connection.closed:
                self._execute("ROLLBACK")

    def close(self) -> None:
        """What was not committed is lost."""
        self._connection.close()

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
