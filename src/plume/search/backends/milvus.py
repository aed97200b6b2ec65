"""Milvus, by pymilvus: milvus://host:19530, milvus+https://host, or milvus://./file.db, which is milvus-lite in this process.

An index is a collection, and a small one for the names of its fields. Words are found by Milvus' BM25 over plume's own words, put down with spaces
between them, so that Chinese is cut as everywhere else. A token (user:password or an API key) comes from MILVUS_TOKEN or the URL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

import numpy as np

from plume.core.errors import PlumeError
from plume.search.address import checked_name, without_password
from plume.search.backend import Matches, StoredPassage, Vectors
from plume.search.backends import _milvus_client as milvus_client
from plume.search.backends._buffered import BufferedStore, Fields
from plume.search.backends._shared import AUTO, FLAT, SMALL, STORED, check_type, matches, metadata_of, parts, passage_of, row_of, words_of
from plume.search.embedded.postings import K1
from plume.search.settings import IndexSettings
from plume.search.where.milvus import JSON, literal, to_milvus
from plume.search.where.tree import Condition, MetadataType

_AT_ONCE = 500  # documents, keys or passages in one request
_MOST = 16_384  # hits of one query: Milvus' own limit
_READ = ["key", *STORED, JSON]


class MilvusStore(BufferedStore):
    """A client of one collection."""

    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        super().__init__(folder, settings, checked_name(settings.extra.get("name"), folder))
        self._at, self._lite = without_password(settings.backend), milvus_client.is_file(settings.backend)
        self._metric = milvus_client.metric_of(settings)
        with self._clear_errors():
            self._client = milvus_client.connect(settings.backend)

    @staticmethod
    def address(url: str) -> str:
        """A file's whole path, so that the index is found from anywhere."""
        return f"milvus://{Path(url.removeprefix('milvus://')).absolute()}" if milvus_client.is_file(url) else url

    @classmethod
    def create(cls, folder: Path, settings: IndexSettings) -> Self:
        """Empty collections."""
        check_type(settings, milvus_client.INDEXES, "Milvus")
        made = cls(folder, settings)
        with made._clear_errors():
            milvus_client.create(made._client, made.name, settings, lite=made._lite)
        return made

    @classmethod
    def open(cls, folder: Path, settings: IndexSettings) -> Self:
        """What `create` made."""
        opened = cls(folder, settings)
        with opened._clear_errors():
            if not opened._client.has_collection(opened.name):
                raise PlumeError(f"The index {opened.name} is not at {opened._at}: it was removed there. Build it again.")
            for name in (opened.name, milvus_client.columns_of(opened.name)):
                opened._client.load_collection(name)
        return opened

    @classmethod
    def drop(cls, folder: Path, settings: IndexSettings) -> None:
        """Both collections."""
        opened = cls(folder, settings)
        with opened._clear_errors():
            for name in (opened.name, milvus_client.columns_of(opened.name)):
                opened._client.drop_collection(name)
        opened.close()

    def _clear_errors(self) -> AbstractContextManager[None]:
        return milvus_client.clear_errors(self._at)

    # Reading

    def search_vectors(self, queries: Vectors, *, top: int, where: Condition | None = None, exact: bool = False) -> Matches:
        """By the collection's index; by all vectors if that brought fewer than asked for."""
        kind = self._kind()
        asked = self._filter(where)
        found = [] if exact and kind != "FLAT" else self._search(list(queries), "vector", self._metric, asked, top, self._effort(kind, top))
        if kind != "FLAT" and (not found or min(map(len, found)) < min(top, _MOST)):
            found = self._compare_all(queries, asked, min(top, _MOST))
        sign = -1.0 if self._metric == "L2" else 1.0
        return matches([[(key, sign * far) for key, far in rows] for rows in found], top)

    def search_words(self, queries: Sequence[str], *, top: int, where: Condition | None = None) -> Matches:
        """By Milvus' BM25; milvus-lite counts how rare a word is in each of its segments."""
        assert self.settings.words is not None
        asked = [words_of(query, self.settings.words) for query in queries]
        found = self._search(asked, "bm25", "BM25", self._filter(where), top, {})
        return matches([[(key, abs(score) / (K1 + 1)) for key, score in rows] for rows in found], top)  # milvus-lite's are negative

    def _filter(self, where: Condition | None) -> str:
        return "" if where is None else to_milvus(where, self._types(), self._places(), lite=self._lite)

    def _search(
        self, data: list[Any], field: str, metric: str, asked: str, top: int, params: dict[str, Any]
    ) -> list[list[tuple[int, float]]]:
        with self._clear_errors():
            found = self._client.search(
                self.name, data=data, anns_field=field, limit=min(top, _MOST), filter=asked, output_fields=["key"],
                search_params={"metric_type": metric, "params": params},
            )  # fmt: skip
        return [[(hit["key"], hit["distance"]) for hit in hits] for hits in found]

    def _kind(self) -> str:
        with self._clear_errors():
            return str(self._client.describe_index(self.name, "vector")["index_type"])

    def _effort(self, kind: str, top: int) -> dict[str, Any]:
        if kind == "HNSW":
            return {"ef": max(100, 2 * top)}
        return {} if kind == "FLAT" else {"nprobe": max(8, milvus_client.lists(self.count()[1]) // 8)}

    def _compare_all(self, queries: Vectors, asked: str, top: int) -> list[list[tuple[int, float]]]:
        best = [[] for _ in queries]  # type: list[list[tuple[int, float]]]
        for rows in self._pages(asked, ["key", "vector"]):
            keys, vectors = [row["key"] for row in rows], np.array([row["vector"] for row in rows], np.float32)
            for number, query in enumerate(queries):
                far = ((vectors - query) ** 2).sum(axis=1) if self._metric == "L2" else -(vectors @ query)
                best[number] = sorted([*best[number], *zip(keys, far.tolist(), strict=True)], key=lambda one: one[1])[:top]
        return [[(key, far if self._metric == "L2" else -far) for key, far in rows] for rows in best]

    def _pages(self, asked: str, fields: list[str]) -> Iterator[list[dict[str, Any]]]:
        """In the order of keys."""
        with self._clear_errors():
            iterator = self._client.query_iterator(self.name, batch_size=1_000, filter=asked, output_fields=fields)
            while rows := iterator.next():
                yield rows
            iterator.close()

    def get(self, keys: Sequence[int]) -> list[StoredPassage]:
        """In the same order."""
        places, found = self._places(), dict[int, StoredPassage]()
        for some in parts([int(key) for key in keys], _AT_ONCE):
            with self._clear_errors():
                rows = self._client.query(self.name, filter=f"key in {some}", output_fields=_READ)
            found |= {row["key"]: passage_of(row, row[JSON], places) for row in rows}
        return [found[int(key)] for key in keys]

    def passages(self, documents: Sequence[str] | None = None) -> Iterator[StoredPassage]:
        """In the order in which they were added."""
        places = self._places()
        for asked in [""] if documents is None else [_among(some) for some in parts(documents, _AT_ONCE)]:
            for rows in self._pages(asked, _READ):
                yield from (passage_of(row, row[JSON], places) for row in rows)

    def count(self) -> tuple[int, int]:
        """Documents and passages."""
        with self._clear_errors():
            documents, passages = (
                self._client.query(self.name, filter=asked, output_fields=["count(*)"])[0]["count(*)"] for asked in ("number == 0", "")
            )
        return documents, passages

    def info(self) -> dict[str, Any]:
        """The collection's name, and the type of its index."""
        return {"name": self.name} | ({} if self.settings.dimension is None else {"type": self._kind().lower()})

    def _read_fields(self) -> Fields:
        with self._clear_errors():
            rows = self._client.query(
                milvus_client.columns_of(self.name), filter="place > 0", output_fields=["name", "place", "type"], limit=_MOST
            )
        return {row["name"]: (row["place"], MetadataType(row["type"])) for row in sorted(rows, key=lambda row: row["place"])}

    def _keys(self, documents: Sequence[str]) -> dict[int, str]:
        rows = (row for some in parts(documents, _AT_ONCE) for page in self._pages(_among(some), ["key", "document"]) for row in page)
        return {row["key"]: row["document"] for row in rows}

    def _numbers(self) -> Iterator[tuple[str, int]]:
        return ((row["document"], row["number"]) for rows in self._pages("", ["document", "number"]) for row in rows)

    # Writing

    def _write_fields(self, fields: Fields) -> None:
        with self._clear_errors():
            self._client.upsert(
                milvus_client.columns_of(self.name),
                [{"name": name, "place": place, "type": kind.value, "none": [0.0, 0.0]} for name, (place, kind) in fields.items()],
            )

    def _insert(self, passages: Sequence[StoredPassage], vectors: Vectors | None) -> list[int]:
        places, keys = self._places(), list[int]()
        rows = [self._row(one, places) | ({} if vectors is None else {"vector": vectors[n]}) for n, one in enumerate(passages)]
        with self._clear_errors():
            for some in parts(rows, _AT_ONCE):
                keys += self._client.insert(self.name, some)["ids"]
        return keys

    def _row(self, passage: StoredPassage, places: dict[str, int]) -> dict[str, Any]:
        if (size := len(passage.text.encode())) > milvus_client.LONGEST:
            raise PlumeError(
                f"Document '{passage.document}' has a text of {size:,} bytes; Milvus keeps at most {milvus_client.LONGEST:,}: "
                "let plume cut it (--model), or shorten it."
            )
        row = row_of(passage) | {JSON: metadata_of(passage, places)}
        if self.settings.words is not None:
            row["words"] = words_of(passage.text, self.settings.words).encode()[: milvus_client.LONGEST].decode(errors="ignore")
        return row

    def _delete(self, keys: Sequence[int]) -> None:
        with self._clear_errors():
            for some in parts(keys, _AT_ONCE):
                self._client.delete(self.name, ids=some)

    def _settle(self) -> None:
        """A cluster finds new rows at once, and allows a flush every few seconds only; milvus-lite is slow before one."""
        if self._lite:
            with self._clear_errors():
                self._client.flush(self.name)

    def prepare(self) -> str | None:
        """Let Milvus build another index, where it is worth it."""
        if self.settings.dimension is None:
            return None
        rows, wanted = self.count()[1], self.settings.type
        if wanted == AUTO:
            wanted = "hnsw" if rows > SMALL else FLAT
        if not rows or self._kind() == milvus_client.INDEXES[wanted] or (self.settings.type == AUTO and wanted == FLAT):
            return None
        with self._clear_errors():
            milvus_client.build(self._client, self.name, self.settings, wanted, rows)
        return f"Milvus built {milvus_client.INDEXES[wanted]} over {rows:,} passages"

    def compact(self) -> None:
        """Milvus' own compaction."""
        with self._clear_errors():
            self._client.flush(self.name)
            self._client.compact(self.name)

    def close(self) -> None:
        """What was not committed is lost."""
        self.rollback()
        self._client.close()


def _among(documents: list[str]) -> str:
    return f"document in [{', '.join(map(literal, documents))}]"


BACKEND = MilvusStore
