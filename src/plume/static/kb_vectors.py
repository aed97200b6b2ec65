"""Vectors of a knowledge base, beside it on the disk: vectors.npy, relations.npy, and vectors.json, which says how they were made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import make_folder, write_atomic, write_json
from plume.kb.store import KnowledgeBase
from plume.static.transe import Ranks, TransE, by_frequency, by_vectors, ranked

VECTORS, RELATIONS, ABOUT = "vectors.npy", "relations.npy", "vectors.json"
_EVERY = 100  # of the triples one is held out where they are measured, as of the documents of a corpus
_ASKED = 1000  # held-out triples at most: each is held against every entity, twice


@dataclass(frozen=True, kw_only=True)
class MeasuredVectors:
    """How well held-out triples are found again, beside two who know no vectors."""

    held_out: int
    vectors: Ranks
    frequency: Ranks  # the most frequent tail, or head, of the relation
    chance: float  # mean reciprocal rank of a random order


def learn_vectors(
    folder: Path,
    part: TransE,
    *,
    seed: int = 0,
    out: Path | None = None,
    measured: bool = True,
    progress: Callable[[float, float], None] = lambda share, loss: None,
) -> MeasuredVectors | None:
    """TransE of all triples, into the knowledge base's own directory or another; measured by vectors of their own, trained without every
    hundredth triple."""
    with KnowledgeBase.open(folder) as kb:
        triples, entities, relations = np.asarray(kb.triples(), np.int64), len(kb), len(kb.relations)
        about: dict[str, Any] = {"transe": part.to_json(), "seed": seed, "fingerprint": kb.fingerprint, "triples": len(triples)}
    if not len(triples):
        raise PlumeError(f"{folder} holds no triple, and TransE learns from triples: add some (plume kb add).")
    half = measured and len(triples) >= 2 * _EVERY
    share = 0.5 if half else 1.0

    def told(from_: float) -> Callable[[float, float], None]:
        return lambda done, loss: progress(from_ + share * done, loss)

    figures = None
    if half:
        figures = _measured(part, triples, entities=entities, relations=relations, seed=seed, progress=told(0.0))
        about["held out"] = dataclasses.asdict(figures)
    made = part.train(triples, entities=entities, relations=relations, seed=seed, progress=told(1 - share))
    target = folder if out is None else out
    make_folder(target)
    _save(target / VECTORS, made.entities)
    _save(target / RELATIONS, made.relations)
    write_json(target / ABOUT, about)
    return figures


def _measured(
    part: TransE, triples: NDArray[np.int64], *, entities: int, relations: int, seed: int, progress: Callable[[float, float], None]
) -> MeasuredVectors:
    order = np.random.default_rng([seed, 2]).permutation(len(triples))
    count = len(triples) // _EVERY
    asked, known = triples[order[:count][:_ASKED]], triples[order[count:]]
    made = part.train(known, entities=entities, relations=relations, seed=seed, progress=progress)
    return MeasuredVectors(
        held_out=len(asked),
        vectors=ranked(by_vectors(made), asked, triples),
        frequency=ranked(by_frequency(known, entities), asked, triples),
        chance=float((1 / np.arange(1, entities + 1)).mean()),
    )


def _save(path: Path, values: NDArray[np.float32]) -> None:
    def write(target: Path) -> None:
        with target.open("wb") as handle:
            np.save(handle, values)

    write_atomic(path, write)
