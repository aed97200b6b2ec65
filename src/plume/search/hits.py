"""What a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from plume.search.embedded.types import is_exact
from plume.search.settings import Analysis
from plume.search.terms import terms


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A passage that was found, and why."""

    id: str  # of the document
    text: str
    start: int  # the passage's place in the document, in characters
    end: int
    score: float  # what the hits are ordered by: of both sides together, of the only one asked, or of the re-ranker
    metadata: Mapping[str, Any] = field(default_factory=dict)
    # By vectors: cosine, inner product or negative squared distance; types that keep codes (sq, pq …) may give an estimate. None: not among the
    # nearest.
    vectors: float | None = None
    words: float | None = None  # by words: BM25; None: not among the best
    rerank: float | None = None
    query: str = field(default="", repr=False)
    analysis: Analysis | None = field(default=None, repr=False)

    @cached_property
    def matched(self) -> tuple[str, ...]:
        """Words of the query that are in the passage."""
        if self.analysis is None:
            return ()
        there = set(terms(self.text, self.analysis))
        return tuple(word for word in dict.fromkeys(terms(self.query, self.analysis)) if word in there)

    def as_json(self) -> dict[str, Any]:
        """A record for --json."""
        found = {
            "id": self.id,
            "score": self.score,
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "metadata": dict(self.metadata),
        }
        sides = {"vectors": self.vectors, "words": self.words, "rerank": self.rerank}
        return found | {name: value for name, value in sides.items() if value is not None} | {"matched": list(self.matched)}


def estimated(figures: Mapping[str, Any]) -> bool:
    """Are scores by vectors those of compressed codes? `figures` are the backend's `info`. What is re-ranked, or merged with passages that came
    since, is compared with the vectors themselves."""
    compared = figures.get("refined", 1) > 1 or figures.get("built") != figures.get("rows")
    return not is_exact(str(figures.get("type", ""))) and not compared
