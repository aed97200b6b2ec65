"""A question asked of a model that finds its answer in several steps: in a knowledge base, in documents, over several hops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A step on the way to the answer."""

    name: str  # "topic", "path", "retrieved", "hop 2" …
    said: str  # what was found there, in words
    score: float  # as that stage scores
    others: tuple[tuple[str, float], ...] = ()  # what else was found, the best first


@dataclass(frozen=True, kw_only=True)
class Edge:
    """Of the graph that explains an answer: from what, by what, to what."""

    source: str
    label: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a task says to a question. No answers: it found none, and the last step says why.

    >>> Reply(question="?", answers=("a", "b"), score=0.5).as_json()["answers"]
    ['a', 'b']
    """

    question: str
    answers: tuple[str, ...]
    score: float
    steps: tuple[Stage, ...] = ()
    graph: tuple[Edge, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For a JSON line."""
        made = asdict(self)
        made["answers"] = list(self.answers)
        made["steps"] = [step | {"others": [list(one) for one in step["others"]]} for step in made["steps"]]
        return made | {"graph": list(made["graph"])}


@dataclass(frozen=True, kw_only=True)
class AskedOf:
    """What a question is put to, where that is not what the model was trained with."""

    kb: str | None = None  # knowledge base directory
    documents: str | None = None  # index directory, or file of documents
    options: Mapping[str, Any] = field(default_factory=dict)  # what a task has beyond that
