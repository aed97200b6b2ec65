"""Which name is what: entities and relations by number, key and name."""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.kb import database
from plume.kb.names import normalised

_AT_ONCE = 900  # values of a query: more than a thousand are too many for some builds of sqlite


class Candidate(NamedTuple):
    """What a name may mean, and how likely that is where nothing else is known."""

    entity: int
    prior: float


class Lookup:
    """Of one directory. `KnowledgeBase` adds what is said of the entities."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._database = connection

    def __len__(self) -> int:
        """Entities, values among them; their ids go from 0 to one less."""
        return self._one("SELECT coalesce(max(id) + 1, 0) FROM entity")

    @property
    def relations(self) -> tuple[str, ...]:
        """Names, by id."""
        return tuple(name for (name,) in self._all("SELECT name FROM relation ORDER BY id"))

    @property
    def entities(self) -> list[str]:
        """Names, by id: all of them."""
        return [name for (name,) in self._all("SELECT name FROM entity ORDER BY id")]

    @property
    def literals(self) -> NDArray[np.bool_]:
        """[entities] Which are values, to which nothing links."""
        return np.array([flag for (flag,) in self._all("SELECT literal FROM entity ORDER BY id")], np.bool_)

    def name_of(self, entity: int) -> str:
        """Of an entity or a value."""
        return self._one(
            "SELECT name FROM entity WHERE id = ?", int(entity), missing=f"{self.folder} has no entity {entity}: {len(self):,}."
        )

    def is_literal(self, entity: int) -> bool:
        """A value, and no entity."""
        return bool(self._of_entity("literal", entity))

    def relation_name(self, relation: int) -> str:
        """Of a relation."""
        return self._one("SELECT name FROM relation WHERE id = ?", int(relation), missing=f"{self.folder} has no relation {relation}.")

    def id_of(self, name: str | int) -> int:
        """Of an entity by its key, its name as it is written, or else as a name that only one has."""
        if isinstance(name, int):
            self.name_of(name)
            return name
        found = self._key_or_name(name)
        if found:
            return found[0]
        meant = self.candidates(name)
        if len(meant) == 1:
            return meant[0].entity
        if meant:
            which = ", ".join(f"{self.name_of(one.entity)} ({one.entity})" for one in meant[:5])
            raise PlumeError(
                f"'{name}' may be several entities of {self.folder}: {which}. Name it as it is written, or by its key; in Python by its number."
            )
        raise PlumeError(f"{self.folder} names no entity '{name}'{self._near(name)}")

    def keyed(self, key: str) -> list[int]:
        """Entities whose key this is."""
        return [number for (number,) in self._all("SELECT id FROM entity WHERE key = ?", key)]

    def relation_of(self, name: str | int) -> int:
        """Of a relation by its key or name."""
        if isinstance(name, int):
            if not 0 <= name < len(self.relations):
                raise PlumeError(f"{self.folder} has no relation {name}: they go from 0 to {len(self.relations) - 1}.")
            return name
        rows = self._all("SELECT id, name, key FROM relation ORDER BY id")
        for number, *names in rows:
            if name in names:
                return number
        for number, said, _ in rows:
            if normalised(said) == normalised(name):
                return number
        near = difflib.get_close_matches(name, [said for _, said, _ in rows], 3)
        hint = f"; it has {', '.join(near)}" if near else f"; it has {len(rows):,} others"
        raise PlumeError(f"{self.folder} has no relation '{name}'{hint}.")

    def candidates(self, name: str) -> list[Candidate]:
        """What a name may mean, the likeliest first; those who are written just so before those who differ in case."""
        rows = self._all(
            "SELECT entity, weight, name = ? FROM (SELECT a.entity, a.weight, e.name FROM alias a JOIN entity e ON e.id = a.entity WHERE a.name = ?) "
            "ORDER BY 3 DESC, 2 DESC, 1", name, normalised(name),
        )  # fmt: skip
        whole = sum(weight for _, weight, _ in rows)
        return [Candidate(entity, weight / whole) for entity, weight, _ in rows]

    def all_candidates(self) -> Iterator[tuple[str, list[Candidate]]]:
        """Every name, normalised and in order, and what it may mean, the likeliest first."""
        query = "SELECT name, entity, weight FROM alias ORDER BY name, weight DESC, entity"
        with database.clear_errors(self.folder):
            for name, rows in groupby(self._database.execute(query), key=itemgetter(0)):
                found = list(rows)
                whole = sum(weight for *_, weight in found)
                yield name, [Candidate(entity, weight / whole) for _, entity, weight in found]

    def names(self) -> Iterator[str]:
        """Every name and other name, normalised, each once."""
        with database.clear_errors(self.folder):
            yield from (name for (name,) in self._database.execute("SELECT DISTINCT name FROM alias"))

    def which_are_names(self, normal: Collection[str]) -> set[str]:
        """Of these normalised names, those that something has."""
        asked, found = list(normal), set[str]()
        for some in (asked[first : first + _AT_ONCE] for first in range(0, len(asked), _AT_ONCE)):
            marks = ", ".join("?" * len(some))
            found.update(name for (name,) in self._all(f"SELECT DISTINCT name FROM alias WHERE name IN ({marks})", *some))
        return found

    # sqlite

    def _all(self, query: str, *values: Any) -> list[Any]:
        with database.clear_errors(self.folder):
            return self._database.execute(query, values).fetchall()

    def _one(self, query: str, *values: Any, missing: str = "") -> Any:
        found = self._all(query, *values)
        if not found:
            raise PlumeError(missing)
        return found[0][0]

    def _of_entity(self, column: str, entity: int) -> Any:
        return self._one(f"SELECT {column} FROM entity WHERE id = ?", int(entity), missing=f"{self.folder} has no entity {entity}.")

    def _meta(self, key: str) -> str:
        return self._one("SELECT value FROM meta WHERE key = ?", key, missing=f"{self.folder} is damaged: build it again.")

    def _key_or_name(self, name: str) -> list[int]:
        found = self._all("SELECT id FROM entity WHERE key = ?", name)
        found += self._all(
            "SELECT e.id FROM alias a JOIN entity e ON e.id = a.entity WHERE a.name = ? AND e.name = ?", normalised(name), name
        )
        return [number for (number,) in found]

    def _near(self, name: str) -> str:
        near = difflib.get_close_matches(normalised(name), self._near_names, 3)
        return f"; near it are: {', '.join(near)}." if near else "."

    @cached_property
    def _near_names(self) -> list[str]:
        return [name for (name,) in self._all("SELECT name FROM alias LIMIT 200000")]
