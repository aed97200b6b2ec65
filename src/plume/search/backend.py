"""What a store of passages must do for an Index: keep texts with typed metadata, vectors and words, and find among them.

An Index (`index.py`) cuts documents into passages, embeds them, reads filters (`where/`), merges what the two sides find and makes hits of it;
a backend only stores and searches. The embedded one is `embedded/store.py`; others are connected by `--backend URL`, a file each in `backends/`.

Keys are whole numbers that the backend gives to passages; the Index only hands them back. They hold until the next `compact`.
A document is a string id with passages 0, 1, 2 …, which share its metadata. Nothing is seen by other readers before `commit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from plume.search.where.tree import Condition, MetadataType

Vectors = NDArray[np.float32]
NONE = -1  # the key where fewer were found than asked for
ID = "id"  # the document's own id may be filtered by like metadata; no field of metadata is called so


@dataclass(frozen=True, kw_only=True)
class StoredPassage:
    """A stretch of a document, as it is stored and found again."""

    document: str
    number: int = 0  # of the passage in the document
    text: str
    start: int = 0  # characters of the document
    end: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)  # values as JSON has them; what is missing is left out


class Matches(NamedTuple):
    """The best first. Where there are fewer than asked for, the key is NONE and the score -inf."""

    keys: NDArray[np.int64]  # [Q, K]
    scores: NDArray[
        np.float32
    ]  # [Q, K] the higher the better: cosine, inner product, negative squared distance, or an estimate of it; BM25


class Backend(Protocol):
    """Opened by its own `create` or `open`, with the `IndexSettings` of the index; vectors come already normalised if the metric is cosine."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Within it one committed state is read, whoever writes meanwhile; where a server has no such thing, it does nothing."""

    @property
    def columns(self) -> Mapping[str, MetadataType]:
        """Fields of metadata that were declared, with their types."""

    def declare(self, columns: Mapping[str, MetadataType]) -> None:
        """New fields, or INT that becomes REAL; called before passages that have them."""

    def add(self, passages: Sequence[StoredPassage], vectors: Vectors | None) -> None:
        """Whole documents that are not there yet, a vector a passage (None: the index has words only)."""

    def remove(self, documents: Sequence[str]) -> int:
        """All passages of these; how many of the documents were there."""

    def search_vectors(self, queries: Vectors, *, top: int, where: Condition | None = None, exact: bool = False) -> Matches:
        """The nearest passages of each query; `exact`: compare with all of them."""

    def search_words(self, queries: Sequence[str], *, top: int, where: Condition | None = None) -> Matches:
        """The best passages by the words of each query; only passages that share one."""

    def get(self, keys: Sequence[int]) -> list[StoredPassage]:
        """In the same order."""

    def has(self, documents: Sequence[str]) -> set[str]:
        """Those of them that are there."""

    def passages(self, documents: Sequence[str] | None = None) -> Iterator[StoredPassage]:
        """All of the index, or of these documents, in the order in which they were added: to embed again, to export."""

    def count(self) -> tuple[int, int]:
        """Documents and passages."""

    def info(self) -> dict[str, Any]:
        """Figures for `plume index info`, beyond what the Index knows: type, bytes, what waits for compaction."""

    def check(self) -> list[str]:
        """What is wrong, a sentence each; empty: texts, words, vectors and metadata agree."""

    def prepare(self) -> str | None:
        """Called after additions were committed: build what makes searching fast, if it is worth it. What to tell the user, if anything."""

    def compact(self) -> None:
        """Drop what was removed for good, and build what searches anew."""

    def commit(self) -> None:
        """Everything since the last commit at once, or, if the process dies, nothing."""

    def rollback(self) -> None:
        """Forget everything since the last commit."""

    def close(self) -> None:
        """What was not committed is lost."""
