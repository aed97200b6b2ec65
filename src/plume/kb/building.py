"""A knowledge base made of files: read as a stream, written sorted, and there whole or not at all."""

from __future__ import annotations

import enum
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import write_folder
from plume.kb import content, database
from plume.kb.names import names_of, normalised
from plume.kb.store import KnowledgeBase, Triples, write_triples
from plume.kb.triple_files import Named, Stated, last_part, read_names, read_triples


class Literals(enum.StrEnum):
    """Which objects are values, that no text is linked to."""

    MARKED = "marked"  # as the file says: "…" in N-Triples, "literal": true in JSONL; none in tables
    LEAVES = "leaves"  # and every object that is no subject


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Files beside those of the triples."""

    entities: Path | None = None  # key, name: what the triples call it, and how it is called; ids follow its order
    relations: Path | None = None
    aliases: Path | None = None  # entity, another name of it, and how often it means it (else: in how many triples it stands)


@dataclass
class _Vocabulary:
    """Things by key, in the order in which they come; a closed one takes no others."""

    what: str
    closed: Path | None = None
    number: dict[str, int] = field(default_factory=dict)
    name: list[str] = field(default_factory=list)
    key: list[str | None] = field(default_factory=list)

    def of(self, key: str, path: Path, line: int) -> int:
        found = self.number.get(key)
        if found is not None:
            return found
        if self.closed is not None:
            raise PlumeError(f"{path}, line {line}: the {self.what} '{key}' is named nowhere in {self.closed}.")
        name = last_part(key)
        return self.add(key, name)

    def add(self, key: str, name: str) -> int:
        self.number[key] = made = len(self.name)
        self.name.append(name)
        self.key.append(None if key == name else key)
        return made

    def rename(self, key: str, name: str) -> None:
        number = self.number[key]
        self.name[number], self.key[number] = name, None if key == name else key

    @classmethod
    def read(cls, what: str, path: Path | None) -> _Vocabulary:
        made = cls(what, path)
        for line, (key, name, *_) in () if path is None else read_names(path):
            if key in made.number:
                raise PlumeError(f"{path}, line {line}: '{key}' is named twice.")
            made.add(key, name)
        return made


@dataclass
class _Gathered:
    entities: _Vocabulary
    relations: _Vocabulary
    values: dict[str, int] = field(default_factory=dict)  # literals, by what they say
    labels: dict[str, str] = field(default_factory=dict)
    other_names: list[tuple[str, str]] = field(default_factory=list)
    flat: array[int] = field(default_factory=lambda: array("i"))

    def take(self, item: Stated | Named, path: Path, line: int) -> None:
        if isinstance(item, Named):
            # The first label is the name. Labels in other languages are other names: a question may be in any of them.
            if not item.main or self.labels.setdefault(item.key, item.name) != item.name:
                self.other_names.append((item.key, item.name))
            return
        subject = self.entities.of(item.subject, path, line)
        relation = self.relations.of(item.relation, path, line)
        self.flat.extend((subject, relation, self.value(item.object) if item.literal else self.entities.of(item.object, path, line)))

    def value(self, said: str) -> int:
        if said not in self.values:
            self.values[said] = len(self.entities.name)
            self.entities.name.append(said)
            self.entities.key.append(None)
        return self.values[said]

    def triples(self) -> Triples:
        """Sorted, each once."""
        found = np.frombuffer(self.flat, np.int32).reshape(-1, 3) if self.flat else np.zeros((0, 3), np.int32)
        found = found[np.lexsort((found[:, 2], found[:, 1], found[:, 0]))]
        again = np.zeros(len(found), np.bool_)
        again[1:] = (found[1:] == found[:-1]).all(axis=1)
        return found[~again]


def build(
    files: Sequence[str | Path],
    out: str | Path,
    *,
    sources: Sources = Sources(),
    literals: Literals = Literals.MARKED,
    shown: Callable[[int], None] = lambda lines: None,
) -> KnowledgeBase:
    """Read the files, write the directory, open it."""
    out = Path(out)
    if out.exists():
        raise PlumeError(f"{out} is there already: choose another --out, or delete it first.")
    gathered = _Gathered(_Vocabulary.read("entity", sources.entities), _Vocabulary.read("relation", sources.relations))
    for path in map(Path, files):
        for line, item in read_triples(path):
            gathered.take(item, path, line)
            if line % 100_000 == 0:
                shown(len(gathered.flat) // 3)
    if not gathered.flat:
        raise PlumeError(f"{', '.join(map(str, files))}: no triple was found.")
    for key, name in gathered.labels.items():
        for known in (gathered.entities, gathered.relations):
            if key in known.number:
                known.rename(key, name)
    write_folder(out, lambda folder: _fill(folder, gathered, sources, literals))
    return KnowledgeBase.open(out)


def _fill(folder: Path, gathered: _Gathered, sources: Sources, literals: Literals) -> None:
    triples = gathered.triples()
    names, keys = gathered.entities.name, gathered.entities.key
    literal = np.zeros(len(names), np.bool_)
    literal[list(gathered.values.values())] = True
    if literals is Literals.LEAVES:
        leaf = np.zeros(len(names), np.bool_)
        leaf[triples[:, 2]] = True
        leaf[triples[:, 0]] = False
        literal |= leaf
    connection = database.create(folder)
    connection.execute("BEGIN")
    flags = literal.tolist()
    connection.executemany("INSERT INTO entity VALUES (?, ?, ?, ?)", zip(range(len(names)), names, keys, map(int, flags), strict=True))
    relations = gathered.relations
    connection.executemany(
        "INSERT INTO relation VALUES (?, ?, ?)", zip(range(len(relations.name)), relations.name, relations.key, strict=True)
    )
    connection.executemany("INSERT INTO triple VALUES (?, ?, ?)", triples.tolist() if len(triples) < 10**6 else _rows(triples))
    degree = np.bincount(triples[:, [0, 2]].ravel(), minlength=len(names))
    connection.execute("CREATE TEMP TABLE own(name, entity, weight)")  # sqlite sorts what memory need not hold twice
    connection.executemany("INSERT INTO own VALUES (?, ?, ?)", _own_names(names, flags, degree))
    connection.execute("INSERT OR IGNORE INTO alias SELECT * FROM own ORDER BY name, entity")
    _insert_aliases(connection, gathered, sources.aliases, degree, literal)
    hashes = content.name_hashes(zip(names, keys, flags, strict=True))
    relation_hashes = content.name_hashes((name, key, False) for name, key in zip(relations.name, relations.key, strict=True))
    whole = content.total(
        int(hashes.sum(dtype=np.uint64)),
        content.triples_sum(hashes[triples[:, 0]], relation_hashes[triples[:, 1]], hashes[triples[:, 2]]),
    )
    meta = {"format": database.FORMAT, "fingerprint": whole, "triples": len(triples), "revision": 0}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [(key, str(value)) for key, value in meta.items()])
    connection.execute("COMMIT")
    connection.executescript(database.INDEXES)
    connection.close()
    write_triples(folder / "triples-0.npy", triples)


def _rows(triples: Triples) -> Iterable[list[int]]:
    for first in range(0, len(triples), 100_000):
        yield from triples[first : first + 100_000].tolist()


def _own_names(names: Sequence[str], literal: Sequence[bool], degree: np.ndarray) -> Iterable[tuple[str, int, float]]:
    for number, (name, value, often) in enumerate(zip(names, literal, degree.tolist(), strict=True)):
        if not value:
            for plain, share in names_of(name):
                yield plain, number, max(often, 1) * share


def _insert_aliases(
    connection: sqlite3.Connection, gathered: _Gathered, path: Path | None, degree: np.ndarray, literal: np.ndarray
) -> None:
    """Values are passed over, as their own names are: no text is linked to them."""
    by_name: dict[str, int] | None = None
    insert = "INSERT INTO alias VALUES (?, ?, ?) ON CONFLICT(name, entity) DO UPDATE SET weight = excluded.weight"
    for key, name in gathered.other_names:
        if key in gathered.entities.number:
            number = gathered.entities.number[key]
            if literal[number]:
                continue
            connection.execute(insert, (normalised(name), number, float(max(degree[number], 1))))
    for line, fields in () if path is None else read_names(path):
        found = gathered.entities.number.get(fields[0])
        if found is None:
            by_name = by_name or _by_name(gathered.entities.name, literal)
            found = by_name.get(fields[0])
        if found is None:
            raise PlumeError(f"{path}, line {line}: no triple names '{fields[0]}'; write the entity, a tab, and another name of it.")
        weight = _weight(fields, f"{path}, line {line}", float(max(degree[found], 1)))
        if not literal[found]:
            connection.execute(insert, (normalised(fields[1]), found, weight))


def _by_name(names: Sequence[str], literal: np.ndarray) -> dict[str, int]:
    """Of several of one name the first, and an entity before a value."""
    found: dict[str, int] = {}
    for which in (~literal, literal):
        for number in np.flatnonzero(which).tolist():
            found.setdefault(names[number], number)
    return found


def _weight(fields: Sequence[str], place: str, otherwise: float) -> float:
    if len(fields) < 3 or not fields[2]:
        return otherwise
    try:
        weight = float(fields[2])
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        raise PlumeError(f"{place}: '{fields[2]}' is no weight: write how often the name means this entity, a number above 0.")
    return weight
