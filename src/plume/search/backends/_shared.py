"""What the servers share: matches out of rows, words of a passage, the types of index that one has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from plume.core.errors import PlumeError
from plume.search.backend import NONE, Matches
from plume.search.settings import Analysis, IndexSettings
from plume.search.terms import terms

AUTO, FLAT = "auto", "flat"
SMALL = 20_000  # passages up to which type "auto" compares with all of them
_LONGEST = 200  # characters of a word that count: what a database takes as a key


def matches(found: Sequence[Sequence[tuple[int, float]]], top: int) -> Matches:
    """Keys and scores of each query, the best first, padded to `top`."""
    keys, scores = np.full((len(found), top), NONE, np.int64), np.full((len(found), top), -np.inf, np.float32)
    for number, rows in enumerate(found):
        for rank, (key, score) in enumerate(rows[:top]):
            keys[number, rank], scores[number, rank] = key, score
    return Matches(keys, scores)


def counted(text: str, analysis: Analysis) -> Counter[str]:
    """The words of a passage or a query, the same for every backend: so Chinese is found wherever it is kept."""
    return Counter(word[:_LONGEST] for word in terms(text, analysis))


def check_type(settings: IndexSettings, known: Collection[str], server: str) -> None:
    """Refuse an index type that a server has not."""
    if settings.type not in (AUTO, *known):
        raise PlumeError(f"--type {settings.type}: {server} has {', '.join((AUTO, *known))}.")
