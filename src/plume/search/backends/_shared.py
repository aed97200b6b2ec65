"""What the servers share: matches out of rows, words of a passage, the types of index that one has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.search.backend import ID, NONE, Matches, StoredPassage
from plume.search.settings import Analysis, IndexSettings
from plume.search.terms import terms
from plume.search.where.json_fields import from_json_fields, to_json_fields

AUTO, FLAT = "auto", "flat"
SMALL = 20_000  # passages up to which type "auto" compares with all of them
STORED = ("document", "number", "start", "end", "text")
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


def words_of(text: str, analysis: Analysis) -> str:
    """The same with spaces between them, for servers that cut there and count themselves."""
    return " ".join(counted(text, analysis).elements())


def row_of(passage: StoredPassage) -> dict[str, Any]:
    """What is stored of it beside its metadata."""
    return {name: getattr(passage, name) for name in STORED}


def metadata_of(passage: StoredPassage, places: Mapping[str, int]) -> dict[str, Any]:
    """What a filter is asked of: metadata and id, as JSON."""
    return to_json_fields({**passage.metadata, ID: passage.document}, places)


def passage_of(row: Mapping[str, Any], metadata: Mapping[str, Any], places: Mapping[str, int]) -> StoredPassage:
    """As it was before `row_of` and `metadata_of`."""
    return StoredPassage(**{name: row[name] for name in STORED}, metadata=from_json_fields(metadata, places))


def parts(whole: Sequence[Any], size: int) -> Iterator[list[Any]]:
    """So many at a time."""
    return (list(whole[begin : begin + size]) for begin in range(0, len(whole), size))
