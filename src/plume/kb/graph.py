"""Steps from entity to entity: all triples in memory, sorted both ways, so that a step from many entities is a few array operations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.kb.store import KnowledgeBase, Triples

Entities = NDArray[np.int32]  # sorted, each once


class Hop(NamedTuple):
    """A relation, followed from subject to object, or back."""

    relation: int
    inverse: bool = False


Path = tuple[Hop, ...]


class KnowledgeGraph:
    """
    >>> import tempfile, pathlib
    >>> from plume.kb.building import build
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "t.tsv").write_text("Heat\\tby\\tMann\\nAli\\tby\\tMann\\n", encoding="utf-8")
    >>> graph = KnowledgeGraph(build([folder / "t.tsv"], folder / "kb"))
    >>> {tuple(step): there.tolist() for step, there in graph.steps(np.array([1])).items()}
    {(0, True): [0, 2]}
    >>> graph.walk(0, (Hop(0), Hop(0, True))).tolist()
    [0, 2]
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        triples = np.asarray(kb.triples())
        back = triples[np.lexsort((triples[:, 0], triples[:, 1], triples[:, 2]))]
        self._ways = (_columns(triples, (0, 1, 2)), _columns(back, (2, 1, 0)))  # forward, inverse
        self.often = np.bincount(triples[:, 1], minlength=len(kb.relations))  # [relations] triples of each

    def steps(self, entities: Entities) -> dict[Hop, Entities]:
        """Every step that leads on from some of them, and where it leads."""
        found: dict[Hop, Entities] = {}
        for inverse, (here, relation, there) in zip((False, True), self._ways, strict=True):
            places = _places(here, entities)
            for number in np.unique(relation[places]).tolist():
                found[Hop(number, inverse)] = np.unique(there[places[relation[places] == number]])
        return found

    def follow(self, entities: Entities, step: Hop) -> Entities:
        """Where one step leads from all of them."""
        here, relation, there = self._ways[step.inverse]
        places = _places(here, entities)
        return np.unique(there[places[relation[places] == step.relation]])

    def walk(self, start: int, path: Path) -> Entities:
        """Where a path ends; nowhere, if a step leads nowhere."""
        reached = np.array([start], np.int32)
        for step in path:
            reached = self.follow(reached, step)
        return reached

    def degree(self, entity: int) -> int:
        """In how many triples it stands."""
        return sum(int(np.diff(np.searchsorted(here, [entity, entity + 1]))[0]) for here, _, _ in self._ways)


def _columns(triples: Triples, order: tuple[int, int, int]) -> tuple[Entities, Entities, Entities]:
    here, relation, there = (np.ascontiguousarray(triples[:, column]) for column in order)
    return here, relation, there


def _places(column: NDArray[np.int32], entities: Entities) -> NDArray[np.int64]:
    """Of rows whose sorted column holds one of the entities."""
    wanted = entities.astype(column.dtype)  # of another type, the whole column would be converted
    first, last = np.searchsorted(column, wanted), np.searchsorted(column, wanted, side="right")
    size = last - first
    return np.repeat(first - np.cumsum(size) + size, size) + np.arange(int(size.sum()))
