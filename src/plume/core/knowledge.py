"""What a network is told of a knowledge base: how much there is, what it is called, and the arrays that its parts read.

A part that is built for one says so (`Part.needs_knowledge`), takes its numbers from it (`Part.for_knowledge`) and names the arrays that its module
reads (`Part.reads_arrays`). So a recipe that was fitted rebuilds its network without the knowledge base.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.core.part_fields import hints

P = TypeVar("P", bound=Part)


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """A knowledge base as networks and their users see it. Entities and relations are numbered from 0."""

    entities: tuple[str, ...]  # their names
    relations: tuple[str, ...]
    path: str  # where it lay
    fingerprint: str  # of its content
    facts: int = 0  # how many triples it holds
    arrays: Mapping[str, NDArray[Any]] = field(
        default_factory=dict
    )  # triples [n, 3], vectors [entities, d]: those that the recipe's parts read

    def array(self, name: str) -> NDArray[Any]:
        """One of them."""
        if name not in self.arrays:
            raise PlumeError(f"The knowledge base {self.path} has no {name}, which this model reads.")
        return self.arrays[name]

    def refuse_other(self, other: Knowledge, what: str) -> None:
        """A model knows entities and relations by their numbers: `other` may hold other facts, and more names behind, and nothing else."""
        for kind, ours, theirs in (("entity", self.entities, other.entities), ("relation", self.relations, other.relations)):
            at = next((n for n, name in enumerate(ours) if n >= len(theirs) or theirs[n] != name), None)
            if at is not None:
                there = f"'{theirs[at]}'" if at < len(theirs) else "nothing"
                raise PlumeError(
                    f"{what} was trained with the knowledge base {self.path}, and {other.path} is another one: {kind} {at} is "
                    f"'{ours[at]}' there and {there} here. Give the one that it was trained with, or a copy with other facts."
                )

    def as_known_to(self, model: Knowledge) -> Knowledge:
        """Without entities and relations that the model has no place for, and the triples that name them."""
        entities, relations, arrays = len(model.entities), len(model.relations), dict(self.arrays)
        if "triples" in arrays:
            triples = np.asarray(arrays["triples"])
            known = (triples[:, [0, 2]] < entities).all(1) & (triples[:, 1] < relations)
            arrays["triples"] = triples[known]
        if "vectors" in arrays:
            arrays["vectors"] = arrays["vectors"][:entities]
        if "candidates" in arrays:
            meant = np.asarray(arrays["candidates"])
            arrays["candidates"] = np.where(meant < entities, meant, -1)
        return dataclasses.replace(self, entities=model.entities, relations=model.relations, arrays=arrays)


def parts_in(part: Any) -> Iterator[Part]:
    """The part and all below it."""
    if isinstance(part, tuple):
        for item in part:
            yield from parts_in(item)
    elif isinstance(part, Part):
        yield part
        for name in hints(type(part)):
            yield from parts_in(getattr(part, name))


def needs_knowledge(part: Part) -> bool:
    """Is any part of it built for one knowledge base?"""
    return any(one.needs_knowledge for one in parts_in(part))


def arrays_of(part: Part) -> tuple[str, ...]:
    """The arrays that its parts read."""
    return tuple(dict.fromkeys(name for one in parts_in(part) for name in one.reads_arrays))


def fitted(part: P, knowledge: Knowledge) -> P:
    """The same with the numbers of this knowledge base in all of its parts."""
    made: P = _fitted(part, knowledge)
    return made


def _fitted(value: Any, knowledge: Knowledge) -> Any:
    if isinstance(value, tuple):
        return tuple(_fitted(item, knowledge) for item in value)
    if not isinstance(value, Part):
        return value
    old = {name: getattr(value, name) for name in hints(type(value))}
    new = {name: _fitted(item, knowledge) for name, item in old.items()}
    changed = {name: item for name, item in new.items() if item != old[name]}
    return (dataclasses.replace(value, **changed) if changed else value).for_knowledge(knowledge)  # type: ignore[type-var]
