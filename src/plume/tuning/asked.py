"""A question asked of a model that finds its answer in several steps: in a knowledge base, in documents, over several hops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from plume.core.errors import PlumeError


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
    documents: str | None = None  # a file of them
    options: Mapping[str, Any] = field(default_factory=dict)  # what a task has beyond that

    def settings(self, task: Any, names: Sequence[str]) -> dict[str, Any]:
        """The options, as settings of a task that a question may change: each is known, and of the kind that it has there."""
        defaults = {one.name: one.default for one in fields(task)}
        for name, value in self.options.items():
            if name not in names:
                raise PlumeError(f"{task.called} has no setting '{name}' that a question may change: {', '.join(names)}.")
            if wanted := _wrong(value, defaults[name]):
                raise PlumeError(f"{task.called}: {name} is {wanted}, not {value!r}.")
        return dict(self.options)

    def require_documents_only(self, what: str) -> None:
        """Raise where a knowledge base is given to what reads documents: it would go unread, and nobody would see that."""
        if self.kb is not None:
            raise PlumeError(f"{what} reads documents, and no knowledge base: leave out --kb.")


def _wrong(value: Any, default: Any) -> str | None:
    """What a setting should be, if the value is none.

    >>> _wrong(3, 5), _wrong(0, 5), _wrong(0, 0), _wrong("no", True)
    (None, 'a whole number from 1 on', None, 'true or false')
    """
    assert default is not MISSING
    if isinstance(default, bool):
        return None if isinstance(value, bool) else "true or false"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "a number"
    least = min(default, 1)
    if isinstance(default, int) and (not isinstance(value, int) or value < least):
        return f"a whole number from {least} on"
    return None
