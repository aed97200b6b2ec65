"""A knowledge base as networks are told of it (`core/knowledge.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.knowledge import Knowledge
from plume.kb.candidates import as_bytes, meanings, numbers_of_names
from plume.kb.linked import linked_with
from plume.kb.store import KnowledgeBase

_MADE_BY = {"vectors": "plume kb vectors"}  # arrays that somebody learned before, and what learns them


def open_knowledge(folder: Path, arrays: Sequence[str] = (), *, linked: Sequence[str | Path] = ()) -> Knowledge:
    """Its names, and the arrays that are asked for: its triples, or what lies beside it under the array's name (vectors.npy).

    Of the files that are `linked` none may have been linked to another.
    """
    with KnowledgeBase.open(folder) as kb:
        for path in linked:
            if (used := linked_with(Path(path))) is not None:
                used.require_numbers(kb, str(path))
        if not len(kb):
            raise PlumeError(f"{folder} holds no entity: a network cannot be built for it.")
        return Knowledge(
            entities=tuple(kb.entities),
            relations=kb.relations,
            path=str(folder.absolute()),
            fingerprint=kb.fingerprint,
            facts=kb.count,
            arrays=dict(_arrays(kb, arrays)),
        )


def _arrays(kb: KnowledgeBase, names: Sequence[str]) -> Iterator[tuple[str, NDArray[Any]]]:
    if {"candidates", "priors"} & set(names):
        found = meanings(kb)
        yield "candidates", found.entities
        yield "priors", found.priors
    if "names" in names:
        yield "names", as_bytes(numbers_of_names(kb))
    if "triples" in names:
        yield "triples", np.asarray(kb.triples())
    for name in names:
        if name not in ("candidates", "priors", "names", "triples"):
            yield name, _beside(kb.folder, name, len(kb))


def _beside(folder: Path, name: str, entities: int) -> NDArray[Any]:
    """A row for each entity, as a file of numpy."""
    path = folder / f"{name}.npy"
    if not path.exists():
        made = _MADE_BY.get(name)
        hint = f": make it with {made} {folder}." if made else "."
        raise PlumeError(f"This recipe reads the {name} of a knowledge base, and {path} is missing{hint}")
    try:
        found: NDArray[Any] = np.load(path)
    except (ValueError, OSError):
        raise PlumeError(f"{path} is damaged: make it again.") from None
    if len(found) != entities:
        raise PlumeError(f"{path} has {len(found):,} rows, and {folder} {entities:,} entities: make it again.")
    return found
