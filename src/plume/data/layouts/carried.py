"""Carried fields: what a JSONL line says beside its text, as one whole number a token that rides with it to the network.

A recipe's layout declares which fields it wants; no other is read or stored. From the corpus file on, each is spans of the text; the
encoder turns these into a number for each token, and from there on it is an array beside the tokens: in the store, in rows, in `Batch.named`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part

NONE = -1  # the value of tokens that a field says nothing of, and of special tokens
OWN_DOCUMENT = "own_document"  # an array that a run lays beside the tokens: which of the documents that it retrieves from is the text's own
Spans = NDArray[np.int64]  # [n, 3] first character, the one after the last, value; in order of place, none over another


@dataclass(frozen=True, kw_only=True)
class Carried(Part):
    """A field of the corpus' JSONL lines, and the name of its array."""

    name: str

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name == "text":
            raise PlumeError(f"'{self.name}' cannot be carried: name a field beside the text, of letters, digits and underscores.")

    def spans(self, value: Any, text: str) -> Spans:
        """What the field's value marks in the text."""
        raise NotImplementedError

    def value(self, spans: Spans) -> Any:
        """The field's value again, as a JSONL line has it."""
        raise NotImplementedError

    def _number(self, value: Any, what: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise PlumeError(f"'{self.name}': {what} is {value!r}, where a whole number from 0 on is wanted.")
        return value


@dataclass(frozen=True, kw_only=True)
class SpanField(Carried):
    """Stretches of the text, each with an id: `{"mentions": [{"start": 0, "end": 6, "id": 17}]}`, in characters, `end` not included.

    >>> SpanField(name="mentions").spans([{"start": 4, "end": 6, "id": 2}, {"start": 0, "end": 3, "id": 7}], "Ada saw it").tolist()
    [[0, 3, 7], [4, 6, 2]]
    """

    def spans(self, value: Any, text: str) -> Spans:
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise PlumeError(f'\'{self.name}\' is no list of spans; write [{{"start": 0, "end": 6, "id": 17}}, …].')
        if "\0" in text:
            raise PlumeError(f"'{self.name}' counts characters of a text with zero characters, which are left out: remove them first.")
        found = sorted(tuple(self._number(one.get(key), f"'{key}' of a span") for key in ("start", "end", "id")) for one in value)
        before = 0
        for start, end, _ in found:
            if not before <= start < end <= len(text):
                problem = "begins inside another" if start < before else f"does not lie in the text of {len(text)} characters"
                raise PlumeError(f"'{self.name}': the span {start}:{end} {problem}; a token has one id.")
            before = end
        return np.array(found, np.int64).reshape(-1, 3)

    def value(self, spans: Spans) -> list[dict[str, int]]:
        return [{"start": start, "end": end, "id": number} for start, end, number in spans.tolist()]


@dataclass(frozen=True, kw_only=True)
class DocumentField(Carried):
    """One whole number for all of a document: `{"document": 4711}` (ids of documents, dates)."""

    def spans(self, value: Any, text: str) -> Spans:
        return np.array([[0, len(text), self._number(value, "its value")]], np.int64)

    def value(self, spans: Spans) -> int:
        return int(spans[0, 2])


MENTIONS = SpanField(name="mentions")  # of entities of a knowledge base, by their numbers there
FORMS = SpanField(name="forms")  # names that may mean several of them, by the names' numbers there


def token_values(spans: Spans, start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """[N] of tokens at start:end, the value of the first span that each has a character in.

    >>> token_values(np.array([[2, 5, 7]]), np.array([0, 2, 4, 5]), np.array([2, 3, 6, 6])).tolist()
    [-1, 7, 7, -1]
    """
    first = np.searchsorted(spans[:, 1], start, side="right")  # the first one that ends behind the token's start
    spans = np.concatenate([spans, [[np.iinfo(np.int64).max, 0, NONE]]])  # behind the last, one that no token reaches
    return np.where(spans[first, 0] < np.maximum(end, start + 1), spans[first, 2], NONE)
