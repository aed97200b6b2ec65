"""Elasticsearch 8.12 or newer, by its own client: elasticsearch://host:9200, or elasticsearch+https://user@host:9200.

**No server was at hand when this was written**: it keeps to the documented API (dense_vector, knn, script_score, bulk), and its tests hold it against
a small server of their own that understands only that. Try it on yours before you rely on it.

An index is an index there. Words are found by Lucene's BM25 over plume's own words with spaces between them, so that Chinese is cut as everywhere
else. A password comes from ELASTIC_PASSWORD or the URL, an API key from ELASTIC_API_KEY.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from plume.search.address import checked_name, without_password
from plume.search.backend import Matches, StoredPassage, Vectors
from plume.search.backends import _elasticsearch_client as client
from plume.search.backends._buffered import BufferedStore, Fields
from plume.search.backends._shared import AUTO, STORED, check_type, matches, metadata_of, parts, passage_of, row_of, words_of
from plume.search.settings import IndexSettings, Metric
from plume.search.where.elasticsearch import Query, to_elasticsearch
from plume.search.where.json_fields import json_field
from plume.search.where.tree import Condition, MetadataType

_AT_ONCE = 1_000
_MOST = 10_000  # hits of one query: Elasticsearch's own limit
# The same scores as its approximate search gives, which are never negative.
_EXACT = {
    Metric.DISTANCE: "double far = l2norm(params.query, 'vector'); return 1 / (1 + far * far);",
    Metric.PRODUCT: "double near = dotProduct(params.query, 'vector'); return near < 0 ? 1 / (1 - near) : near + 1;",
}


class ElasticsearchStore(BufferedStore):
    """A client of one index."""

    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        super().__init__(folder, settings, checked_name(settings.extra.get("name"), folder))
        self._at = without_password(settings.backend)
        self._metric = client.metric_of(settings)
        with self._clear_errors():
            self._client = client.connect(settings.backend)

    @staticmethod
    def address(url: str) -> str:
        """As it is."""
        return url

    @classmethod
    def create(cls, folder: Path, settings: IndexSettings) -> Self:
        """An empty index."""
        check_type(settings, [name for name in client.TYPES if name != AUTO], "Elasticsearch")
        made = cls(folder, settings)
        with made._clear_errors():
            made._client.indices.create(index=made.name, mappings=client.mappings(settings), settings=client.SETTINGS)
        return made

    @classmethod
    def open(cls, folder: Path, settings: IndexSettings) -> Self:
        """What `create` made."""
        opened = cls(folder, settings)
        opened._read_fields()
        return opened

    @classmethod
    def drop(cls, folder: Path, settings: IndexSettings) -> None:
        """The index."""
        opened = cls(folder, settings)
        with opened._clear_errors():
            opened._client.indices.delete(index=opened.name, ignore_unavailable=True)
        opened.close()

    def _clear_errors(self) -> AbstractContextManager[None]:
        return client.clear_errors(self.name, self._at)

    # Reading

    def search_vectors(self, queries: Vectors, *, top: int, where: Condition | None = None, exact: bool = False) -> Matches:
        """By `knn`, which looks on until a filter has let enough through; or by a script over all of them."""
        asked, wanted = self._filter(where), min(top, _MOST)
        found = []
        for query in queries.tolist():
            if exact:
                script = {"source": _EXACT[self._metric], "params": {"query": query}}
                hits = self._search(size=wanted, query={"script_score": {"query": {"bool": {"filter": asked}}, "script": script}})
            else:
                candidates = min(_MOST, max(100, 2 * wanted))
                knn = {"field": "vector", "query_vector": query, "k": wanted, "num_candidates": candidates, "filter": asked}
                hits = self._search(size=wanted, knn=knn)
            found.append([(int(hit["_id"]), self._nearness(hit["_score"])) for hit in hits])
        return matches(found, top)

    def _nearness(self, score: float) -> float:
        if self._metric is Metric.DISTANCE:
            return 1 - 1 / score
        return score - 1 if score >= 1 else 1 - 1 / score

    def search_words(self, queries: Sequence[str], *, top: int, where: Condition | None = None) -> Matches:
        """By Lucene's BM25."""
        assert self.settings.words is not None
        asked, found = self._filter(where), []
        for query in queries:
            words = {"query": words_of(query, self.settings.words), "operator": "or"}
            hits = self._search(size=min(top, _MOST), query={"bool": {"must": [{"match": {"words": words}}], "filter": asked}})
            found.append([(int(hit["_id"]), hit["_score"]) for hit in hits])
        return matches(found, top)

    def _filter(self, where: Condition | None) -> list[Query]:
        return [] if where is None else [to_elasticsearch(where, self._types(), self._places())]

    def _search(self, **asked: Any) -> list[dict[str, Any]]:
        with self._clear_errors():
            return list(self._client.search(index=self.name, **{"source": False} | asked)["hits"]["hits"])

    def _pages(self, query: Query, source: list[str]) -> Iterator[dict[str, Any]]:
        """In the order of keys."""
        after: dict[str, Any] = {}
        while hits := self._search(size=_AT_ONCE, query=query, sort=[{"key": "asc"}], source=source, **after):
            yield from (hit["_source"] for hit in hits)
            after = {"search_after": hits[-1]["sort"]}

    def get(self, keys: Sequence[int]) -> list[StoredPassage]:
        """In the same order."""
        places, found = self._places(), dict[int, StoredPassage]()
        for some in parts([int(key) for key in keys], _AT_ONCE):
            found |= {row["key"]: passage_of(row, row, places) for row in self._pages({"terms": {"key": some}}, _read(places))}
        return [found[int(key)] for key in keys]

    def passages(self, documents: Sequence[str] | None = None) -> Iterator[StoredPassage]:
        """In the order in which they were added."""
        places = self._places()
        queries: list[Query] = (
            [{"match_all": {}}] if documents is None else [{"terms": {"document": some}} for some in parts(documents, _AT_ONCE)]
        )
        return (passage_of(row, row, places) for query in queries for row in self._pages(query, _read(places)))

    def count(self) -> tuple[int, int]:
        """Documents and passages."""
        return self._count({"term": {"number": {"value": 0}}}), self._count({"match_all": {}})

    def _count(self, query: Query) -> int:
        with self._clear_errors():
            return int(self._client.count(index=self.name, query=query)["count"])

    def info(self) -> dict[str, Any]:
        """The index's name, its type, its bytes."""
        with self._clear_errors():
            size = self._client.indices.stats(index=self.name, metric="store")["_all"]["primaries"]["store"]["size_in_bytes"]
        return {"name": self.name, "type": client.TYPES[self.settings.type], "bytes": size}

    def _read_fields(self) -> Fields:
        with self._clear_errors():
            columns = self._client.indices.get_mapping(index=self.name)[self.name]["mappings"]["_meta"]["columns"]
        return {name: (place, MetadataType(kind)) for name, (place, kind) in sorted(columns.items(), key=lambda one: one[1][0])}

    def _keys(self, documents: Sequence[str]) -> dict[int, str]:
        queries: list[Query] = [{"terms": {"document": some}} for some in parts(documents, _AT_ONCE)]
        return {row["key"]: row["document"] for query in queries for row in self._pages(query, ["key", "document"])}

    def _numbers(self) -> Iterator[tuple[str, int]]:
        return ((row["document"], row["number"]) for row in self._pages({"match_all": {}}, ["document", "number"]))

    # Writing

    def _write_fields(self, fields: Fields) -> None:
        properties = {name: how for place, kind in fields.values() for name, how in client.mapped(place, kind).items()}
        columns = {name: [place, kind.value] for name, (place, kind) in fields.items()}
        with self._clear_errors():
            self._client.indices.put_mapping(index=self.name, properties=properties, meta={"columns": columns})

    def _insert(self, passages: Sequence[StoredPassage], vectors: Vectors | None) -> list[int]:
        places, first = self._places(), self._next_key()
        rows = (
            {"_op_type": "create", "_id": str(key), "_source": {"key": key, **self._row(one, places)}
             | ({} if vectors is None else {"vector": vectors[key - first].tolist()})}
            for key, one in enumerate(passages, first)
        )  # fmt: skip
        with self._clear_errors():
            client.client_module().helpers.bulk(self._client, rows, index=self.name, chunk_size=_AT_ONCE)
            self._client.indices.refresh(index=self.name)
        return list(range(first, first + len(passages)))

    def _row(self, passage: StoredPassage, places: dict[str, int]) -> dict[str, Any]:
        words = {} if self.settings.words is None else {"words": words_of(passage.text, self.settings.words)}
        return row_of(passage) | metadata_of(passage, places) | words

    def _next_key(self) -> int:
        hits = self._search(size=1, query={"match_all": {}}, sort=[{"key": "desc"}])
        return 1 + int(hits[0]["_id"]) if hits else 0

    def _delete(self, keys: Sequence[int]) -> None:
        with self._clear_errors():
            client.client_module().helpers.bulk(
                self._client, ({"_op_type": "delete", "_id": str(key)} for key in keys), index=self.name, chunk_size=_AT_ONCE,
                ignore_status=404,
            )  # fmt: skip

    def _settle(self) -> None:
        with self._clear_errors():
            self._client.indices.refresh(index=self.name)

    def prepare(self) -> str | None:
        """It builds as it goes."""
        return None

    def compact(self) -> None:
        """Its own merging."""
        with self._clear_errors():
            self._client.indices.forcemerge(index=self.name, only_expunge_deletes=True)

    def close(self) -> None:
        """What was not committed is lost."""
        self.rollback()
        self._client.close()


def _read(places: dict[str, int]) -> list[str]:
    return ["key", *STORED, *(json_field(place) for place in places.values() if place)]


BACKEND = ElasticsearchStore
