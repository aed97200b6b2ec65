"""A knowledge base as questions are put to it: opened once, with its graph in memory and its relations as they are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path

from plume.core.errors import PlumeError
from plume.kb.graph import Entities, Hop, KnowledgeGraph
from plume.kb.graph import Path as Steps
from plume.kb.names import flat, normalised
from plume.kb.store import KnowledgeBase
from plume.tuning.knowledge.likeness import Likeness
from plume.tuning.knowledge.nearness import Nearness, nearness

_LEFT_OUT = re.compile(r"\[\d+\]|[•·●▪]")  # footnotes and bullets of encyclopaedias
_BETWEEN_HAN = re.compile(r"(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")


class OpenedKB:
    """What one run or one session of asking reads; with `vectors`, a model directory, it compares by meaning too."""

    def __init__(self, folder: str, vectors: str = "") -> None:
        self.kb = KnowledgeBase.open(folder)
        if not self.kb.count:
            raise PlumeError(f"{folder} is empty: it has no triple to answer with.")
        self.relations = tuple(relation_text(name) for name in self.kb.relations)
        self.likeness = Likeness(self.relations)
        self.nearness: Nearness | None = nearness(vectors) if vectors else None
        self._plain: dict[int, str] = {}

    @cached_property
    def graph(self) -> KnowledgeGraph:
        """All triples."""
        return KnowledgeGraph(self.kb)

    def plain(self, entity: int) -> str:
        """Its name as names are compared."""
        if entity not in self._plain:
            self._plain[entity] = normalised(self.kb.name_of(entity))
        return self._plain[entity]

    def plain_names(self, entities: Iterable[int] | Entities) -> set[str]:
        """Of all of them."""
        return {self.plain(int(one)) for one in entities}

    def steps_named(self, name: str, *, inverse: bool) -> list[Hop]:
        """The relations that are called or keyed so; several, where they differ in signs that do not count."""
        wanted = relation_text(name)
        found = [Hop(number, inverse) for number, said in enumerate(self.relations) if said == wanted]
        if not found:
            try:
                found = [Hop(self.kb.relation_of(name), inverse)]
            except PlumeError:
                return []
        return found

    def said(self, path: Steps, *, ended: bool = False) -> str:
        """A path as the network reads it; what is followed back stands in brackets.

        A path that ends there has a full stop, so that going on and stopping are two texts.
        """
        steps = (f"({self.relations[step.relation]})" if step.inverse else self.relations[step.relation] for step in path)
        return ", ".join(steps) + ("." if ended else "")


def relation_text(name: str) -> str:
    """
    >>> relation_text("• 别　名[1]"), relation_text("place_of Birth")
    ('别名', 'place of birth')
    """
    plain = normalised(_LEFT_OUT.sub("", flat(name)).replace("_", " "))
    return _BETWEEN_HAN.sub("", plain) or name


@lru_cache(maxsize=4)
def _opened(folder: str, vectors: str, revision: int, stamp: int) -> OpenedKB:
    return OpenedKB(folder, vectors)


def opened(folder: str, vectors: str = "") -> OpenedKB:
    """The same object as long as nothing was edited."""
    with KnowledgeBase.open(folder) as kb:
        revision = kb.revision
    return _opened(folder, vectors, revision, (Path(folder) / "kb.sqlite").stat().st_ino)
