"""What every name may mean, as arrays that a network reads: a name's number is its place among all of them, in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.kb.store import KnowledgeBase

MOST = 30  # candidates of a name, the likeliest (KnowBERT, arXiv:1909.04164 §4.1)


class Meanings(NamedTuple):
    """[F, C] entities, −1 behind the last, and how likely each is."""

    entities: NDArray[np.int64]
    priors: NDArray[np.float32]


def numbers_of_names(kb: KnowledgeBase) -> dict[str, int]:
    """By normalised name."""
    return {name: number for number, (name, _) in enumerate(kb.all_candidates())}


def as_bytes(names: Iterable[str]) -> NDArray[np.uint8]:
    """Names as an array, for a model that keeps them.

    >>> spelled_out(as_bytes(["bank", "河岸"]))
    ['bank', '河岸']
    """
    return np.frombuffer("\n".join(names).encode(), np.uint8)


def spelled_out(array: NDArray[np.uint8]) -> list[str]:
    """The names again."""
    return np.asarray(array, np.uint8).tobytes().decode().split("\n")


def meanings(kb: KnowledgeBase, *, most: int = MOST) -> Meanings:
    """Of every name, the likeliest first.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from plume.kb.building import Sources, build
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "t.tsv").write_text("Paris\\tin\\tFrance\\n", encoding="utf-8")
    >>> _ = (folder / "names.tsv").write_text("Paris\\tthe city\\t3\\nFrance\\tthe city\\t1\\n", encoding="utf-8")
    >>> found = meanings(build([folder / "t.tsv"], folder / "kb", sources=Sources(aliases=folder / "names.tsv")))
    >>> found.entities.tolist(), found.priors.tolist()
    ([[1, -1], [0, -1], [0, 1]], [[1.0, 0.0], [1.0, 0.0], [0.75, 0.25]])
    """
    each = [found[:most] for _, found in kb.all_candidates()]
    widest = max((len(one) for one in each), default=1)
    entities, priors = np.full((len(each), widest), -1, np.int64), np.zeros((len(each), widest), np.float32)
    for row, found in enumerate(each):
        entities[row, : len(found)] = [one.entity for one in found]
        priors[row, : len(found)] = [one.prior for one in found]
    return Meanings(entities, priors)
