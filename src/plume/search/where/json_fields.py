"""Metadata as a JSON object that a filter can be asked of, where a database keeps JSON: Milvus and Elasticsearch.

Fields are called m1, m2 … by their places, so that no name of a user's stands in a query. Beside them lie what LIKE and HAS compare:
a text's small letters, if it has capital ones, and the values of a list as texts, since in JSON 1 and 1.0 may be two and true is not 1. Each list
has one value more, so that an empty list is not a missing one.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from plume.search.where.tree import MetadataType, Value

LOWER, TOKENS = "_lower", "_has"
_LIST = "list"  # no token begins with an l
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def json_field(place: int) -> str:
    """The name of a field of metadata; place 0 is the document's own id."""
    return f"m{place}"


def to_json_fields(metadata: Mapping[str, Any], places: Mapping[str, int]) -> dict[str, Any]:
    """What is stored.

    >>> to_json_fields({"title": "Ab", "tags": ["x", 1]}, {"title": 1, "tags": 2})
    {'m1': 'Ab', 'm1_lower': 'ab', 'm2': ['x', 1], 'm2_has': ['list', 'tx', 'n1']}
    """
    made: dict[str, Any] = {}
    for column, value in metadata.items():
        name = json_field(places[column])
        made[name] = value
        if isinstance(value, str) and lowered(value) != value:
            made[name + LOWER] = lowered(value)
        elif isinstance(value, list | tuple):
            made[name + TOKENS] = [_LIST, *(token(one) for one in value)]
    return made


def from_json_fields(stored: Mapping[str, Any], places: Mapping[str, int]) -> dict[str, Any]:
    """The metadata again."""
    return {column: stored[json_field(place)] for column, place in places.items() if place and stored.get(json_field(place)) is not None}


def said_there(kind: MetadataType) -> str:
    """Which of a field's names is there whenever it has a value."""
    return TOKENS if kind is MetadataType.LIST else ""


def lowered(text: str) -> str:
    """With small letters for A–Z, and for nothing else."""
    return text.translate(_SMALL)


def token(value: Value) -> str:
    """A value of a list; numbers that are equal are the same."""
    if isinstance(value, str):
        return f"t{value}"
    return f"n{int(value) if value == value // 1 else value!r}"
