"""A change to a server that has no transactions: held back until `commit`, which writes what is new before it removes what is old.

So nothing that was committed is lost if the process dies within a commit; a part of the new documents may be there, and of replaced ones both
states, which `check` tells and adding them again with `update` mends. A change of very many passages is written as it grows; `rollback` then
removes what was written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

import numpy as np

from plume.search.backend import ID, StoredPassage, Vectors
from plume.search.settings import IndexSettings, writer_lock
from plume.search.where.tree import MetadataType

_HELD = 20_000  # passages
Fields = dict[str, tuple[int, MetadataType]]  # of metadata: place and type


class BufferedStore(ABC):
    """What such backends share; a process of this machine that writes keeps others from writing by a lock in the index's folder."""

    def __init__(self, folder: Path, settings: IndexSettings, name: str) -> None:
        self.folder, self.settings, self.name = folder, settings, name
        self._writing: ExitStack | None = None
        self._forget()

    def _forget(self) -> None:
        self._declared: Fields = {}
        self._held: list[tuple[StoredPassage, Vectors | None]] = []
        self._old: set[int] = set()  # keys to be removed
        self._new: list[int] = []  # keys that were written before the commit

    # What a server does

    @abstractmethod
    def _read_fields(self) -> Fields: ...

    @abstractmethod
    def _write_fields(self, fields: Fields) -> None:
        """All of them."""

    @abstractmethod
    def _insert(self, passages: Sequence[StoredPassage], vectors: Vectors | None) -> list[int]:
        """Their keys."""

    @abstractmethod
    def _delete(self, keys: Sequence[int]) -> None: ...

    @abstractmethod
    def _settle(self) -> None:
        """What was written is found from here on."""

    @abstractmethod
    def _keys(self, documents: Sequence[str]) -> dict[int, str]:
        """Of all passages of these documents."""

    @abstractmethod
    def _numbers(self) -> Iterator[tuple[str, int]]:
        """Document and number of every passage."""

    # What an index asks

    def snapshot(self) -> AbstractContextManager[None]:
        """There is none: each question is answered as the server is then."""
        return nullcontext()

    @property
    def columns(self) -> Mapping[str, MetadataType]:
        """Fields of metadata, with their types."""
        return {name: kind for name, (_, kind) in self._fields().items()}

    def _fields(self) -> Fields:
        return self._read_fields() | self._declared

    def _places(self) -> dict[str, int]:
        return {ID: 0} | {name: place for name, (place, _) in self._fields().items()}

    def _types(self) -> dict[str, MetadataType]:
        return {ID: MetadataType.TEXT, **self.columns}

    def declare(self, columns: Mapping[str, MetadataType]) -> None:
        """Kept with the next commit."""
        self._begin_writing()
        known = self._fields()
        for name, kind in columns.items():
            place = known[name][0] if name in known else 1 + max((place for place, _ in known.values()), default=0)
            known[name] = self._declared[name] = place, kind

    def has(self, documents: Sequence[str]) -> set[str]:
        """Those of them that are there, or will be."""
        held = {passage.document for passage, _ in self._held}
        return {document for key, document in self._keys(documents).items() if key not in self._old} | (held & set(documents))

    def add(self, passages: Sequence[StoredPassage], vectors: Vectors | None) -> None:
        """Held back, unless they are too many."""
        self._begin_writing()
        self._held += [(one, None if vectors is None else vectors[place]) for place, one in enumerate(passages)]
        if len(self._held) > _HELD:
            self._write()

    def remove(self, documents: Sequence[str]) -> int:
        """With the next commit."""
        self._begin_writing()
        there, gone = self.has(documents), set(documents)
        self._held = [(passage, vector) for passage, vector in self._held if passage.document not in gone]
        self._old |= set(self._keys(documents))
        return len(there)

    def _begin_writing(self) -> None:
        if self._writing is None:
            with ExitStack() as held:
                held.enter_context(writer_lock(self.folder))
                self._writing = held.pop_all()

    def _write(self) -> None:
        if self._declared:
            self._write_fields(self._fields())
        if self._held:
            passages, vectors = [one for one, _ in self._held], [vector for _, vector in self._held if vector is not None]
            self._new += self._insert(passages, np.stack(vectors) if vectors else None)
        self._held, self._declared = [], {}

    def commit(self) -> None:
        """First what is new, then what goes."""
        if self._writing is not None:
            self._write()
            if self._old:
                self._delete(sorted(self._old))
            self._settle()
            self._end_writing()

    def rollback(self) -> None:
        """Remove what was written too early."""
        if self._writing is not None:
            new = self._new
            self._end_writing()
            if new:
                self._delete(new)
                self._settle()

    def _end_writing(self) -> None:
        assert self._writing is not None
        self._forget()
        self._writing.close()
        self._writing = None

    def check(self) -> list[str]:
        """Passages that are there twice, or lack."""
        counts = Counter(self._numbers())
        last: dict[str, int] = {}
        there: Counter[str] = Counter()
        for document, number in counts:
            last[document] = max(last.get(document, 0), number)
            there[document] += 1
        twice = sorted({document for (document, _), times in counts.items() if times > 1})
        problems = [f"Document '{document}' is there twice: put it in again with plume index update." for document in twice]
        return problems + [f"Document '{document}' lacks a passage." for document in sorted(last) if there[document] <= last[document]]
