"""What a knowledge base says, as one number: the same for the same names and triples in any order, and quick to change with a triple."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
_BITS = 2**64
_SUBJECT, _RELATION, _OBJECT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)


def name_hash(name: str, key: str | None, *, literal: bool = False) -> int:
    """Of an entity, a value or a relation."""
    said = f"{name}\0{key or ''}\0{literal:d}".encode()
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "little")


def name_hashes(named: Iterable[tuple[str, str | None, bool]]) -> Hashes:
    """[n] of each name, key, and whether it is a literal."""
    return np.fromiter((name_hash(name, key, literal=literal) for name, key, literal in named), np.uint64)


def triples_sum(subjects: Hashes, relations: Hashes, objects: Hashes) -> int:
    """Of triples, which the sum takes in any order."""
    with np.errstate(over="ignore"):
        mixed = _mixed(_mixed(_mixed(subjects * _SUBJECT) + relations * _RELATION) + objects * _OBJECT)
    return int(mixed.sum(dtype=np.uint64))


def one_triple(subject: int, relation: int, object: int) -> int:
    """The same of one."""
    return triples_sum(*(np.array([one], np.uint64) for one in (subject, relation, object)))


def total(*sums: int) -> int:
    """Sums together; a negative one is taken away."""
    return sum(sums) % _BITS


def _mixed(values: Hashes) -> Hashes:
    """The end of splitmix64: every bit depends on every other."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
