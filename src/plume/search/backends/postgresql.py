"""PostgreSQL with pgvector, by psycopg: postgresql://user@host:5432/database, with whatever else libpq takes in such a URL.

An index is a schema of its own. Passages, with their metadata as columns and their vectors, are one table; words are another, of which BM25 is
computed by a statement, as PostgreSQL's own ranking does not know how rare a word is. Every change is a transaction of the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from plume.search.address import checked_name
from plume.search.backend import ID, Matches, StoredPassage, Vectors
from plume.search.backends import _postgresql_vectors as nearest
from plume.search.backends._postgresql_connection import PostgreSQLConnection
from plume.search.backends._shared import check_type, matches
from plume.search.settings import IndexSettings
from plume.search.where.postgresql import cleaned, to_postgresql
from plume.search.where.tree import Condition, MetadataType

_PAGE = 1_000
_SCHEMA = """
CREATE TABLE columns(place int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text UNIQUE NOT NULL, type text NOT NULL);
CREATE TABLE passages(
    key bigint PRIMARY KEY, document text COLLATE "C" NOT NULL, number int NOT NULL, "start" bigint NOT NULL, "end" bigint NOT NULL,
    length int NOT NULL, text text NOT NULL{vector});
CREATE INDEX ON passages USING hash(document);
CREATE TABLE state(next bigint NOT NULL, rows bigint NOT NULL, words bigint NOT NULL);
INSERT INTO state VALUES (0, 0, 0);
"""
_TYPES = {
    MetadataType.INT: "bigint",
    MetadataType.REAL: "float8",
    MetadataType.TEXT: 'text COLLATE "C"',
    MetadataType.BOOL: "boolean",
    MetadataType.LIST: "jsonb",
}


class PostgreSQLStore(PostgreSQLConnection):
    """The tables of an index."""

    @staticmethod
    def address(url: str) -> str:
        """As it is."""
        return url

    @classmethod
    def create(cls, folder: Path, settings: IndexSettings) -> Self:
        """A schema with empty tables."""
        check_type(settings, nearest.TYPES, "PostgreSQL")
        made = cls(settings.backend, settings, checked_name(settings.extra.get("name"), folder))
        with made._clear_errors(), made._connection.transaction():
            if settings.dimension is not None:
                nearest.check_extension(made._connection, settings, made._at)
            made._execute(f"CREATE SCHEMA {made.name}")
            vector = "" if settings.dimension is None else f", vector vector({settings.dimension:d}) NOT NULL"
            made._execute(_SCHEMA.format(vector=vector))
            if made._words is not None:
                made._words.create()
        return made

    @classmethod
    def open(cls, folder: Path, settings: IndexSettings) -> Self:
        """What `create` made."""
        opened = cls(settings.backend, settings, checked_name(settings.extra.get("name"), folder))
        opened.count()
        return opened

    @classmethod
    def drop(cls, folder: Path, settings: IndexSettings) -> None:
        """The schema and all that is in it."""
        opened = cls(settings.backend, settings, checked_name(settings.extra.get("name"), folder))
        with opened._clear_errors():
            opened._execute(f"DROP SCHEMA IF EXISTS {opened.name} CASCADE")
        opened.close()

    # Reading

    @property
    def columns(self) -> Mapping[str, MetadataType]:
        """Fields of metadata, with their types."""
        return {name: kind for name, kind, _ in self._fields()}

    def _fields(self) -> list[tuple[str, MetadataType, str]]:
        with self.snapshot():
            rows = self._execute("SELECT name, type, place FROM columns ORDER BY place").fetchall()
        return [(name, MetadataType(kind), f"m{place}") for name, kind, place in rows]

    def _filter(self, where: Condition | None) -> tuple[str, list[Any]]:
        if where is None:
            return "", []
        fields = self._fields()
        names = {name: place for name, _, place in fields} | {ID: "document"}
        types = {name: kind for name, kind, _ in fields} | {ID: MetadataType.TEXT}
        text, values = to_postgresql(where, types, names.__getitem__)
        return f"WHERE ({text})", [cleaned(value) for value in values]

    def search_vectors(self, queries: Vectors, *, top: int, where: Condition | None = None, exact: bool = False) -> Matches:
        """By pgvector's index, if there is one."""
        with self.snapshot():
            where_, values = self._filter(where)
            found = nearest.find(self._connection, self.name, queries, self.settings.metric, where_, values, top=top, exact=exact)
            return matches(found, top)

    def search_words(self, queries: Sequence[str], *, top: int, where: Condition | None = None) -> Matches:
        """By BM25."""
        assert self._words is not None
        with self.snapshot():
            where_, values = self._filter(where)
            return matches([self._words.best(query, where_, values, top=top) for query in queries], top)

    def get(self, keys: Sequence[int]) -> list[StoredPassage]:
        """In the same order."""
        found = dict(self._read("WHERE key = ANY(%s)", [[int(key) for key in keys]]))
        return [found[int(key)] for key in keys]

    def _read(self, rest: str, values: Sequence[Any]) -> list[tuple[int, StoredPassage]]:
        with self.snapshot():
            fields = self._fields()
            more = "".join(f", {place}" for _, _, place in fields)
            rows = self._execute(f'SELECT key, document, number, text, "start", "end"{more} FROM passages {rest}', values).fetchall()
        return [
            (key, StoredPassage(document=document, number=number, text=text, start=start, end=end,
                                metadata={name: value for (name, _, _), value in zip(fields, metadata, strict=True) if value is not None}))
            for key, document, number, text, start, end, *metadata in rows
        ]  # fmt: skip

    def has(self, documents: Sequence[str]) -> set[str]:
        """Those of them that are there."""
        with self.snapshot():
            rows = self._execute("SELECT DISTINCT document FROM passages WHERE document = ANY(%s)", [list(documents)]).fetchall()
        return {document for document in documents if (cleaned(document),) in set(rows)}

    def passages(self, documents: Sequence[str] | None = None) -> Iterator[StoredPassage]:
        """In the order in which they were added."""
        with self.snapshot():
            last, some = -1, "" if documents is None else "AND document = ANY(%s)"
            values = [] if documents is None else [list(documents)]
            while page := self._read(f"WHERE key > %s {some} ORDER BY key LIMIT {_PAGE}", [last, *values]):
                yield from (passage for _, passage in page)
                last = page[-1][0]

    def count(self) -> tuple[int, int]:
        """Documents and passages."""
        with self.snapshot():
            return self._execute("SELECT count(*) FILTER (WHERE number = 0), count(*) FROM passages").fetchone()

    def info(self) -> dict[str, Any]:
        """Type, bytes, the name on the server."""
        with self.snapshot():
            size = self._execute(
                "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
                "WHERE relnamespace = %s::regnamespace AND relkind = 'r'", [self.name]
            ).fetchone()[0]  # fmt: skip
            return {"name": self.name, "type": nearest.built(self._connection, self.name) or "flat", "bytes": size}

    def check(self) -> list[str]:
        """What is wrong."""
        with self.snapshot():
            twice = self._execute("SELECT document FROM passages GROUP BY document, number HAVING count(*) > 1 LIMIT 5").fetchall()
            gaps = self._execute("SELECT document FROM passages GROUP BY document HAVING count(*) <> max(number) + 1 LIMIT 5").fetchall()
            late = self._execute("SELECT count(*) FROM passages WHERE key >= (SELECT next FROM state)").fetchone()[0]
            problems = [f"Document '{document}' has a passage twice." for (document,) in twice]
            problems += [f"Document '{document}' lacks a passage." for (document,) in gaps if (document,) not in twice]
            problems += [f"{late:,} passages have keys that were not given yet."] * bool(late)
            return problems + ([] if self._words is None else self._words.problems())

    # Writing

    def declare(self, columns: Mapping[str, MetadataType]) -> None:
        """A column each."""
        with self._change():
            known = {name: place for name, _, place in self._fields()}
            for name, kind in columns.items():
                if name not in known:
                    place = self._execute("INSERT INTO columns(name, type) VALUES (%s, %s) RETURNING place", [name, kind.value]).fetchone()[
                        0
                    ]
                    self._execute_apart(f"ALTER TABLE passages ADD COLUMN m{place:d} {_TYPES[kind]}")
                else:
                    self._execute("UPDATE columns SET type = %s WHERE name = %s", [kind.value, name])
                    self._execute(f"ALTER TABLE passages ALTER COLUMN {known[name]} TYPE {_TYPES[kind]}")

    def add(self, passages: Sequence[StoredPassage], vectors: Vectors | None) -> None:
        """Copied into the table."""
        if not passages:
            return
        with self._change():
            first = self._execute("UPDATE state SET next = next + %s, rows = rows + %s RETURNING next", [len(passages)] * 2).fetchone()[0]
            first -= len(passages)
            lengths = [0] * len(passages) if self._words is None else self._words.add(first, [one.text for one in passages])
            fields = self._fields()
            names = ['key', 'document', 'number', '"start"', '"end"', 'length', 'text', *(place for _, _, place in fields)]  # fmt: skip
            names += [] if vectors is None else ["vector"]
            with self._connection.cursor().copy(f"COPY passages ({', '.join(names)}) FROM STDIN") as copy:
                for place, one in enumerate(passages):
                    metadata = [_stored(one.metadata.get(name)) for name, _, _ in fields]
                    vector = [] if vectors is None else [nearest.written(vectors[place])]
                    row = [first + place, one.document, one.number, one.start, one.end, lengths[place], one.text, *metadata, *vector]
                    copy.write_row([cleaned(value) for value in row])

    def remove(self, documents: Sequence[str]) -> int:
        """Their rows; what their words were counted as stays until `compact`."""
        with self._change():
            rows = self._execute("DELETE FROM passages WHERE document = ANY(%s) RETURNING number", [list(documents)]).fetchall()
        return sum(number == 0 for (number,) in rows)

    def prepare(self) -> str | None:
        """Let pgvector build its index, where it is worth it; and the planner count."""
        said = None
        if self.settings.dimension is not None:
            with self._change():
                said = nearest.build(self._connection, self.name, self.settings, self.count()[1])
            self.commit()
        self._clean_up("ANALYZE passages")
        return said

    def compact(self) -> None:
        """Count the words anew, and let the database clean up."""
        with self._change():
            if self._words is not None:
                self._words.clear()
                last = -1
                while rows := self._execute(f"SELECT key, text FROM passages WHERE key > %s ORDER BY key LIMIT {_PAGE}", [last]).fetchall():
                    for key, text in rows:
                        self._words.add(key, [text])
                    last = rows[-1][0]
            self._execute(
                "UPDATE state SET rows = (SELECT count(*) FROM passages), words = (SELECT coalesce(sum(length), 0) FROM passages)"
            )
        self.commit()
        self._clean_up("VACUUM (ANALYZE) passages")


def _stored(value: Any) -> Any:
    return json.dumps(cleaned(list(value)), ensure_ascii=False) if isinstance(value, list | tuple) else value


BACKEND = PostgreSQLStore
