"""What is sent to Elasticsearch, word for word: no server can be had here, so that this is the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.search.backend import Backend, StoredPassage
from plume.search.backends import addressed, create_backend, drop_backend
from plume.search.settings import IndexSettings, Metric
from plume.search.where.parse import parse_where
from plume.search.where.tree import MetadataType

Requests = list[tuple[str, str, Any]]
YEAR = {"year": MetadataType.INT}


@pytest.fixture
def opened(documented_server: tuple[str, Requests], tmp_path: Path) -> Iterator[tuple[Backend, Requests]]:
    url, requests = documented_server
    requests.clear()
    settings = addressed(tmp_path, IndexSettings(dimension=2, backend=url, metric=Metric.COSINE))
    settings.save(tmp_path)
    backend = create_backend(tmp_path, settings)
    yield backend, requests
    backend.close()
    drop_backend(tmp_path)


def test_the_index_is_declared(opened: tuple[Backend, Requests]) -> None:
    ((method, path, body),) = opened[1]
    assert method == "PUT" and path.startswith("/plume_")
    keyword, long = {"type": "keyword", "ignore_above": 8191}, {"type": "long"}
    assert body == {
        "settings": {"number_of_shards": 1, "similarity": {"plume": {"type": "BM25", "k1": 1.5, "b": 0.75}}},
        "mappings": {
            "dynamic": False,
            "_meta": {"columns": {}},
            "properties": {
                "key": long, "document": keyword, "number": long, "start": long, "end": long, "text": {"type": "text", "index": False},
                "m0": keyword, "m0_lower": keyword, "words": {"type": "text", "analyzer": "whitespace", "similarity": "plume"},
                "vector": {"type": "dense_vector", "dims": 2, "index": True, "similarity": "max_inner_product", "index_options": {"type": "hnsw"}},
            },
        },
    }  # fmt: skip


def test_documents_go_in_by_bulk(opened: tuple[Backend, Requests]) -> None:
    backend, requests = opened
    backend.declare(YEAR)
    backend.add([StoredPassage(document="A", text="Cats, 北京", end=8, metadata={"year": 2020})], np.array([[0.6, 0.8]], np.float32))
    backend.commit()
    mapping = next(body for method, path, body in requests if method == "PUT" and path.endswith("_mapping"))
    number = {"type": "double", "fields": {"whole": {"type": "long", "ignore_malformed": True}}}
    assert mapping == {"properties": {"m1": number}, "_meta": {"columns": {"year": [1, "int"]}}}
    sent = next(body for _, path, body in requests if path.endswith("_bulk"))
    row = {"key": 0, "document": "A", "number": 0, "start": 0, "end": 8, "text": "Cats, 北京", "m1": 2020, "m0": "A", "m0_lower": "a",
           "words": "cat 北京"}  # fmt: skip
    assert sent[0] == {"create": {"_id": "0"}}
    assert {name: value for name, value in sent[1].items() if name != "vector"} == row
    assert sent[1]["vector"] == pytest.approx([0.6, 0.8])
    assert requests[-1][:2] == ("POST", requests[0][1] + "/_refresh")
    backend.remove(["A"])
    backend.commit()
    assert [body for _, path, body in requests if path.endswith("_bulk")][-1] == [{"delete": {"_id": "0"}}]


def test_searches(opened: tuple[Backend, Requests]) -> None:
    backend, requests = opened
    backend.declare(YEAR)
    backend.add([StoredPassage(document="A", text="cats", metadata={"year": 2020})], np.array([[0.6, 0.8]], np.float32))
    backend.commit()
    where = parse_where("NOT (year < 2020.5 OR id LIKE 'B*_%')", {**YEAR, "id": MetadataType.TEXT})
    asked = {
        "bool": {
            "filter": [
                {"range": {"m1.whole": {"gt": 2020}}},
                {"bool": {"filter": [{"exists": {"field": "m0"}}], "must_not": [{"bool": {
                    "should": [{"wildcard": {"m0": {"value": "b\\*?*"}}}, {"wildcard": {"m0_lower": {"value": "b\\*?*"}}}],
                    "minimum_should_match": 1}}]}},
            ]
        }
    }  # fmt: skip
    query = np.array([[1.0, 0.0]], np.float32)
    backend.search_vectors(query, top=3, where=where)
    knn = {"field": "vector", "query_vector": [1.0, 0.0], "k": 3, "num_candidates": 100, "filter": [asked]}
    assert requests[-1][2] == {"knn": knn, "size": 3, "_source": False}
    backend.search_words(["the Cats"], top=3, where=where)
    words = {"bool": {"must": [{"match": {"words": {"query": "the cat", "operator": "or"}}}], "filter": [asked]}}
    assert requests[-1][2] == {"query": words, "size": 3, "_source": False}
    assert backend.search_vectors(query, top=1, exact=True).scores[0, 0] == pytest.approx(0.6)
    assert backend.search_vectors(-query, top=1).scores[0, 0] == pytest.approx(-0.6)


def test_what_it_refuses_is_said(opened: tuple[Backend, Requests]) -> None:
    with pytest.raises(PlumeError, match="refuses it: BadRequestError"):
        opened[0].search_vectors(np.zeros((1, 3), np.float32), top=1)
