"""Which knowledge base something was made with: kept beside linked text and in model directories, and held against the one at hand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.core.part import Part
from plume.kb.store import KnowledgeBase


@dataclass(frozen=True, kw_only=True)
class KnowledgeUsed(Part):
    """Its folder, and what it was then."""

    folder: str
    fingerprint: str  # of all that it says
    vocabulary: str  # of the names of so many entities and relations, in their order
    entities: int
    relations: int

    @classmethod
    def of(cls, kb: KnowledgeBase) -> Self:
        """As it is now."""
        return cls(
            folder=str(kb.folder), fingerprint=kb.fingerprint, vocabulary=kb.vocabulary(), entities=len(kb), relations=len(kb.relations)
        )

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """From a file that `write` made; None: there is none."""
        if not path.exists():
            return None
        found = read_json(path, "it says which knowledge base was used")
        try:
            return cls(**found)
        except TypeError:
            raise PlumeError(f"{path} does not say which knowledge base was used: make it again.") from None

    def write(self, path: Path) -> None:
        """As JSON."""
        write_json(path, self.as_json())

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)

    def numbers_alike(self, kb: KnowledgeBase) -> bool:
        """Have its entities and relations the same numbers there? Triples, and later ids, may be others."""
        return (
            len(kb) >= self.entities
            and len(kb.relations) >= self.relations
            and kb.vocabulary(entities=self.entities, relations=self.relations) == self.vocabulary
        )

    def require_numbers(self, kb: KnowledgeBase, what: str) -> None:
        """Raise where ids mean something else; `what` was made with this one: "runs/x", "linked.jsonl"."""
        if not self.numbers_alike(kb):
            raise PlumeError(
                f"{what} was made with the knowledge base {self.folder} ({self.entities:,} entities, {self.vocabulary}), and its numbers mean "
                f"other entities in {kb.folder} ({len(kb):,}, {kb.vocabulary()}): use that one, or make {what} again."
            )
