"""One committed state of an index, opened for reading."""

from __future__ import annotations

import sqlite3
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.search.backend import ID, Vectors
from plume.search.embedded import ann, types
from plume.search.embedded.asking import Allowed, Searcher
from plume.search.embedded.database import Committed
from plume.search.embedded.postings import WordsReader
from plume.search.embedded.raw_vectors import RawVectors
from plume.search.settings import IndexSettings
from plume.search.where.sql import to_sqlite
from plume.search.where.tree import Condition, MetadataType

_REMEMBERED = 32  # filters


class Snapshot:
    """What a search needs, each read when it is first asked for."""

    def __init__(self, folder: Path, settings: IndexSettings, database: sqlite3.Connection, state: Committed) -> None:
        self.settings, self.state = settings, state
        self._folder, self._database = folder, database
        self._masks: dict[Condition, Allowed] = {}
        read = database.execute("SELECT name, type, place FROM columns ORDER BY place").fetchall()
        self.columns = {name: MetadataType(kind) for name, kind, _ in read}
        self.places = {name: f"d.m{place}" for name, _, place in read} | {ID: "d.id"}
        self.searcher = None if state.ann is None else Searcher(ann.load(folder / state.ann))
        self.vectors = self._vectors()
        self.alive = self._alive()
        self.compares = self._compares(state.type or types.FLAT)

    def _compares(self, type: str) -> bool:
        """Does what is found need exact scores: to be re-ranked, to stand beside rows that are compared one by one, or since bits were counted?"""
        return self.state.refined > 1 or types.counts_bits(type) or (self.state.built < self.state.rows and not types.is_exact(type))

    def _vectors(self) -> Vectors:
        if self.settings.dimension is None:
            return np.zeros((0, 0), np.float32)
        return np.asarray(RawVectors(self._folder / self.state.vectors, self.settings.dimension).mapped(self.state.rows))

    @cached_property
    def words(self) -> WordsReader:
        """Scores by words."""
        assert self.settings.words is not None
        return WordsReader(self._database, self.settings.words, self.state.rows)

    def _alive(self) -> Allowed | None:
        """Rows that were not removed; None: all."""
        gone = self._database.execute("SELECT group_concat(key) FROM gone").fetchone()[0]
        if gone is None:
            return None
        mask = np.ones(self.state.rows, np.bool_)
        mask[_numbers(gone)] = False
        return Allowed(mask, by_filter=False)

    def allowed(self, where: Condition | None) -> Allowed | None:
        """Rows that a filter leaves; None: all."""
        if where is None:
            return self.alive
        if where not in self._masks:
            text, values = to_sqlite(where, self.places.__getitem__)
            statement = f"SELECT group_concat(p.key) FROM documents AS d JOIN passages AS p ON p.document = d.number WHERE {text}"
            keys = self._database.execute(statement, values).fetchone()[0]
            mask = np.zeros(self.state.rows, np.bool_)
            if keys is not None:
                mask[_numbers(keys)] = True
            if len(self._masks) >= _REMEMBERED:
                self._masks.pop(next(iter(self._masks)))
            self._masks[where] = Allowed(mask, by_filter=True)
        return self._masks[where]

    def figures(self) -> dict[str, Any]:
        """For `plume index info`."""
        state = self.state
        searched = state.type or types.FLAT
        return {
            "type": searched, "effort": state.effort, "refined": state.refined, "rows": state.rows, "built": state.built,
            "removed": 0 if self.alive is None else state.rows - self.alive.count, "measured": list(state.measured),
        }  # fmt: skip


def _numbers(text: str | int) -> NDArray[np.int64]:
    """Of a list with commas."""
    return np.fromstring(str(text), np.int64, sep=",")
