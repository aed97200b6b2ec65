"""Triples added and removed, within one transaction."""

from __future__ import annotations

import sqlite3

from plume.core.errors import PlumeError
from plume.kb import content
from plume.kb.names import names_of, normalised
from plume.kb.store import Edit, KnowledgeBase, Triple


class TripleWriter:
    """What an open transaction has changed so far."""

    def __init__(self, kb: KnowledgeBase, connection: sqlite3.Connection) -> None:
        self._kb, self._connection = kb, connection
        self._sum, self._count, self._revision = int(kb.fingerprint, 16), kb.count, kb.revision

    def add(self, edit: Edit, *, new: bool) -> bool:
        """Was it not there before?"""
        subject = self._entity(edit.subject, new=new)
        relation = self._relation(edit.relation, new=new)
        fact = Triple(subject, relation, self._object(edit, new=new))
        added = self._connection.execute("INSERT OR IGNORE INTO triple VALUES (?, ?, ?)", fact).rowcount > 0
        if added:
            self._sum = content.total(self._sum, self._hash(fact))
            self._count += 1
        return added

    def remove(self, edit: Edit) -> bool:
        """One that is not there is an error."""
        subject, relation = self._kb.id_of(edit.subject), self._kb.relation_of(edit.relation)
        wanted = edit.object if isinstance(edit.object, int) else None
        there = self._kb.follow(subject, relation)
        found = [one for one in there if one == wanted or self._kb.name_of(one) == edit.object]
        found = found or [one for one in there if wanted is None and normalised(self._kb.name_of(one)) == normalised(str(edit.object))]
        if not found:
            has = ", ".join(self._kb.name_of(one) for one in there[:5])
            raise PlumeError(
                f"{self._kb.folder} does not say '{self._kb.name_of(subject)}', '{edit.relation}', '{edit.object}': "
                + (f"there it has {has}." if has else "it has nothing there.")
            )
        fact = Triple(subject, relation, found[0])
        self._connection.execute("DELETE FROM triple WHERE s = ? AND r = ? AND o = ?", fact)
        self._sum = content.total(self._sum, -self._hash(fact))
        self._count -= 1
        return True

    def finish(self) -> None:
        """Write what the whole is now."""
        for key, value in (("fingerprint", self._sum), ("triples", self._count), ("revision", self._revision + 1)):
            self._connection.execute("UPDATE meta SET value = ? WHERE key = ?", (str(value), key))

    def _object(self, edit: Edit, *, new: bool) -> int:
        """What only a value is called is that value, also where nobody says so: `remove` takes it so, and what was removed may come back."""
        name = edit.object
        if edit.literal or (isinstance(name, str) and not self._kb.candidates(name) and not self._kb.keyed(name)):
            plain = " ".join(str(name).split())
            known = self._connection.execute("SELECT id FROM entity WHERE literal = 1 AND name = ?", (plain,)).fetchone()
            if known:
                return int(known[0])
        return self._made_entity(str(name), literal=True) if edit.literal else self._entity(name, new=new)

    def _entity(self, name: str | int, *, new: bool) -> int:
        if not new or isinstance(name, int) or self._kb.candidates(name):
            try:
                return self._kb.id_of(name)
            except PlumeError as error:
                hint = "" if new or isinstance(name, int) else " With --new (new=True) it is made."
                raise PlumeError(f"{error}{hint}") from None
        return self._made_entity(name, literal=False)

    def _made_entity(self, name: str, *, literal: bool) -> int:
        name = " ".join(name.split())
        if not name:
            raise PlumeError("An entity needs a name: this one is empty.")
        number = len(self._kb)
        self._connection.execute("INSERT INTO entity VALUES (?, ?, NULL, ?)", (number, name, int(literal)))
        if not literal:
            named = [(plain, number, share) for plain, share in names_of(name)]
            self._connection.executemany("INSERT OR IGNORE INTO alias VALUES (?, ?, ?)", named)
        self._sum = content.total(self._sum, content.name_hash(name, None, literal=literal))
        return number

    def _relation(self, name: str | int, *, new: bool) -> int:
        try:
            return self._kb.relation_of(name)
        except PlumeError as error:
            if not new or isinstance(name, int):
                raise PlumeError(f"{error}{'' if isinstance(name, int) else ' With --new (new=True) it is made.'}") from None
        name = " ".join(name.split())
        if not name:
            raise PlumeError("A relation needs a name: this one is empty.")
        number = len(self._kb.relations)
        self._connection.execute("INSERT INTO relation VALUES (?, ?, NULL)", (number, name))
        return number

    def _hash(self, fact: Triple) -> int:
        ends = (content.name_hash(name, key, literal=bool(literal)) for name, key, literal in map(self._row, (fact.subject, fact.object)))
        subject, object = ends
        name, key = self._connection.execute("SELECT name, key FROM relation WHERE id = ?", (fact.relation,)).fetchone()
        return content.one_triple(subject, content.name_hash(name, key), object)

    def _row(self, entity: int) -> tuple[str, str | None, int]:
        return self._connection.execute("SELECT name, key, literal FROM entity WHERE id = ?", (entity,)).fetchone()
