"""KnowledgeBase: entities, relations, triples and names in one directory, looked up in a tenth of a millisecond and edited in transactions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.kb import database
from plume.kb.lookup import Candidate as Candidate
from plume.kb.lookup import Lookup

if TYPE_CHECKING:
    from plume.kb.link import Linker, NamedPlace

Triples = NDArray[np.int32]  # [n, 3] subject, relation, object, in this order


class Triple(NamedTuple):
    """A triple, by numbers."""

    subject: int
    relation: int
    object: int


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A triple to add or to remove, by names or keys, or by numbers."""

    subject: str | int
    relation: str | int
    object: str | int
    literal: bool = False  # a value, which nothing links to


class KnowledgeBase(Lookup):
    """Ids are dense from 0 and stay: what is added gets the next ones, and a removed triple leaves its entities.

    >>> import tempfile
    >>> from plume.kb.building import build
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "t.tsv").write_text("Inception\\tdirected by\\tChristopher Nolan\\nInception\\tyear\\t2010\\n", encoding="utf-8")
    >>> kb = build([folder / "t.tsv"], folder / "kb")
    >>> [kb.said(fact) for fact in kb.facts("Inception")]
    [('Inception', 'directed by', 'Christopher Nolan'), ('Inception', 'year', '2010')]
    >>> kb.triples().tolist(), [kb.name_of(one.entity) for one in kb.candidates("inception")]
    ([[0, 0, 1], [0, 1, 2]], ['Inception'])
    """

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """One that `plume kb build` made."""
        return cls(Path(folder), database.connect(Path(folder)))

    def close(self) -> None:
        """The files."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def link(self, text: str) -> list[NamedPlace]:
        """Where the text names entities: the longest name at each place. The first time, all names are loaded; `Linker` has options."""
        return self._linker.mentions(text)

    @cached_property
    def _linker(self) -> Linker:
        from plume.kb.link import Linker

        return Linker(self)

    # Facts

    def facts(self, entity: str | int) -> list[Triple]:
        """The triples that it is the subject of."""
        return [Triple(*row) for row in self._all("SELECT s, r, o FROM triple WHERE s = ?", self.id_of(entity))]

    def facts_about(self, entity: str | int) -> list[Triple]:
        """The triples that it is the object of."""
        return [Triple(*row) for row in self._all("SELECT s, r, o FROM triple WHERE o = ?", self.id_of(entity))]

    def follow(self, entity: int, relation: int, *, inverse: bool = False) -> list[int]:
        """Where a relation leads from an entity, or comes from."""
        query = "SELECT s FROM triple WHERE o = ? AND r = ?" if inverse else "SELECT o FROM triple WHERE s = ? AND r = ?"
        return [other for (other,) in self._all(query, entity, relation)]

    def said(self, fact: Triple) -> tuple[str, str, str]:
        """In names."""
        return self.name_of(fact.subject), self.relation_name(fact.relation), self.name_of(fact.object)

    def triples(self) -> Triples:
        """[n, 3] All of them, sorted, mapped from a file that is written anew after an edit."""
        path = self.folder / f"triples-{self.revision}.npy"
        if not path.exists():
            rows = self._database.execute("SELECT s, r, o FROM triple ORDER BY s, r, o")
            flat = np.fromiter((number for row in rows for number in row), np.int32).reshape(-1, 3)
            write_triples(path, flat)
            for old in self.folder.glob("triples-*.npy"):
                if old != path:
                    with suppress(OSError):
                        old.unlink()
        try:
            return np.load(path, mmap_mode="r") if self.count else np.zeros((0, 3), np.int32)
        except (ValueError, OSError):
            raise PlumeError(f"{path} is damaged: delete it, and it is written again.") from None

    @property
    def count(self) -> int:
        """Triples."""
        return int(self._meta("triples"))

    # What it is

    @property
    def revision(self) -> int:
        """How often it was edited."""
        return int(self._meta("revision"))

    @property
    def fingerprint(self) -> str:
        """Of its names and triples, in any order: another one, another content."""
        return f"{int(self._meta('fingerprint')):016x}"

    def vocabulary(self, *, entities: int | None = None, relations: int | None = None) -> str:
        """A fingerprint of which name has which id, among so many. Triples and later ids do not change it, so vectors learned for each stay right."""
        digest = hashlib.blake2b(digest_size=8)
        for query, most in (
            ("SELECT name FROM entity ORDER BY id LIMIT ?", entities),
            ("SELECT name FROM relation ORDER BY id LIMIT ?", relations),
        ):
            for (name,) in self._database.execute(query, (-1 if most is None else most,)):
                digest.update(name.encode() + b"\0")
            digest.update(b"\1")
        return digest.hexdigest()

    def info(self) -> dict[str, Any]:
        """Sizes and fingerprints."""
        return {
            "triples": self.count,
            "entities": self._one("SELECT count(*) FROM entity WHERE literal = 0"),
            "values": self._one("SELECT count(*) FROM entity WHERE literal = 1"),
            "relations": len(self.relations),
            "names": self._one("SELECT count(*) FROM alias"),
            "edits": self.revision,
            "fingerprint": self.fingerprint,
            "bytes": (self.folder / database.FILE).stat().st_size,
        }

    # Edits

    def add(self, edits: Sequence[Edit], *, new: bool = False) -> int:
        """All of them or none. With `new`, entities and relations that it lacks are made; returns how many triples were not there."""
        with self._writing() as writer:
            return sum([writer.add(edit, new=new) for edit in edits])

    def remove(self, edits: Sequence[Edit]) -> int:
        """All of them or none; one that is not there is an error."""
        with self._writing() as writer:
            return sum([writer.remove(edit) for edit in edits])

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        from plume.kb.editing import TripleWriter

        with database.clear_errors(self.folder):
            connection = database.connect(self.folder, write=True)
            try:
                connection.execute("BEGIN IMMEDIATE")
                writer = TripleWriter(type(self)(self.folder, connection), connection)
                yield writer
                writer.finish()
                connection.execute("COMMIT")
            finally:
                connection.close()  # without COMMIT nothing has happened
        self.__dict__.pop("_near_names", None)  # which may be others now
        self.__dict__.pop("_linker", None)


def write_triples(path: Path, triples: Triples) -> None:
    """As a file that is mapped."""

    def write(target: Path) -> None:
        with target.open("wb") as handle:
            np.save(handle, triples)

    write_atomic(path, write)
