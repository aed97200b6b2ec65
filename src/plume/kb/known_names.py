"""Names without a knowledge base around them: what a model keeps of the one that it was trained with is enough to link texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from plume.kb.names import normalised
from plume.kb.store import Candidate


class KnownNames:
    """Entities by their names, each as likely as the others of its name.

    >>> known = KnownNames(["New York", "new york", "Paris"], Path("model"))
    >>> [one.entity for one in known.candidates("new york")], sorted(known.names())
    ([1, 0], ['new york', 'paris'])
    """

    def __init__(self, entities: Sequence[str], folder: Path) -> None:
        self.folder = folder
        self._entities = entities
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(entities):
            self._by_name[normalised(name)].append(number)

    def names(self) -> Iterator[str]:
        """Every name, normalised, each once."""
        yield from self._by_name

    def candidates(self, name: str) -> list[Candidate]:
        """What a name may mean: those that are written just so before those that differ in case."""
        found = self._by_name.get(normalised(name), [])
        return [Candidate(number, 1 / len(found)) for number in sorted(found, key=lambda number: self._entities[number] != name)]
