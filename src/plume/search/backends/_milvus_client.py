"""The client of Milvus, and the collections that an index has there."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plume.core.errors import PlumeError
from plume.search.address import BackendAddress
from plume.search.backends._shared import FLAT
from plume.search.embedded.postings import K1, B
from plume.search.settings import IndexSettings, Metric
from plume.search.where.milvus import JSON

INDEXES = {FLAT: "FLAT", "hnsw": "HNSW", "ivf": "IVF_FLAT", "ivf-sq": "IVF_SQ8"}
LONGEST = 65_535  # bytes of a text


def pymilvus() -> Any:
    """The module."""
    try:
        import pymilvus as module
    except ImportError:
        raise PlumeError("An index in Milvus needs pymilvus: pip install 'plume-lm[milvus]'.") from None
    return module


def connect(url: str) -> Any:
    """A client of a server, or of a file in this process."""
    client = pymilvus().MilvusClient
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints what it raises
    if is_file(url):
        try:
            import milvus_lite  # noqa: F401
        except ImportError:
            raise PlumeError("An index in a file of Milvus needs milvus-lite: pip install 'plume-lm[milvus]'.") from None
        return client(url.removeprefix("milvus://"))
    address = BackendAddress.parse(url)
    token = f"{address.user}:{address.password}" if address.password else os.environ.get("MILVUS_TOKEN", "")
    return client(address.http(19_530), token=token, db_name=address.path.strip("/"), timeout=10)


def is_file(url: str) -> bool:
    """Of milvus-lite."""
    return url.endswith(".db")


def columns_of(name: str) -> str:
    """The small collection that knows the fields of metadata of an index."""
    return f"{name}_columns"


def create(client: Any, name: str, settings: IndexSettings, *, lite: bool) -> None:
    """Both collections, empty."""
    kinds = pymilvus().DataType
    schema = client.create_schema(auto_id=True, enable_dynamic_field=False)
    schema.add_field("key", kinds.INT64, is_primary=True)
    for text in ("document", "text"):
        schema.add_field(text, kinds.VARCHAR, max_length=LONGEST)
    for number in ("number", "start", "end"):
        schema.add_field(number, kinds.INT64)
    schema.add_field(JSON, kinds.JSON)
    if settings.dimension is not None:
        schema.add_field("vector", kinds.FLOAT_VECTOR, dim=settings.dimension)
    if settings.words is not None:
        _add_words(schema, lite)
    _create(client, name, schema, index_params(client, settings, FLAT, 0))
    columns = client.create_schema(auto_id=False)
    columns.add_field("name", kinds.VARCHAR, is_primary=True, max_length=LONGEST)
    columns.add_field("place", kinds.INT64)
    columns.add_field("type", kinds.VARCHAR, max_length=16)
    columns.add_field("none", kinds.FLOAT_VECTOR, dim=2)  # no collection is without a vector
    index = client.prepare_index_params()
    index.add_index(field_name="none", index_type="FLAT", metric_type="L2")
    _create(client, columns_of(name), columns, index)


def _add_words(schema: Any, lite: bool) -> None:
    """BM25 by Milvus itself; milvus-lite's standard tokenizer cuts plume's words at spaces too."""
    module = pymilvus()
    analyzer = {"tokenizer": "standard" if lite else "whitespace"}
    schema.add_field("words", module.DataType.VARCHAR, max_length=LONGEST, enable_analyzer=True, analyzer_params=analyzer)
    schema.add_field("bm25", module.DataType.SPARSE_FLOAT_VECTOR)
    how = module.FunctionType.BM25
    schema.add_function(module.Function(name="bm25", function_type=how, input_field_names=["words"], output_field_names=["bm25"]))


def _create(client: Any, name: str, schema: Any, index: Any) -> None:
    client.create_collection(name, schema=schema, consistency_level="Strong")
    client.create_index(name, index, sync=False)  # of nothing: no need to wait
    client.load_collection(name)


def build(client: Any, name: str, settings: IndexSettings, kind: str, rows: int) -> None:
    """Another index of vectors in the place of the one that is there."""
    client.release_collection(name)
    while names := client.list_indexes(name):  # milvus-lite drops all with the first
        client.drop_index(name, names[0])
    client.create_index(name, index_params(client, settings, kind, rows))
    client.load_collection(name)


def index_params(client: Any, settings: IndexSettings, kind: str, rows: int) -> Any:
    """Of vectors and words."""
    params = client.prepare_index_params()
    if settings.dimension is not None:
        options: dict[str, dict[str, int]] = {"hnsw": {"M": 16, "efConstruction": 200}, FLAT: {}}
        how = options.get(kind, {"nlist": lists(rows)})
        params.add_index(field_name="vector", index_type=INDEXES[kind], metric_type=metric_of(settings), params=how)
    if settings.words is not None:
        params.add_index(field_name="bm25", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params={"bm25_k1": K1, "bm25_b": B})
    return params


def metric_of(settings: IndexSettings) -> str:
    """Cosines are products of unit vectors."""
    return "L2" if settings.metric is Metric.DISTANCE else "IP"


def lists(rows: int) -> int:
    """Of an inverted file, as Milvus' guide has it."""
    return max(1, min(65_536, 4 * math.isqrt(rows)))


@contextmanager
def clear_errors(at: str) -> Iterator[None]:
    """What the server at `at` refuses, in words."""
    try:
        yield
    except pymilvus().MilvusException as error:
        said = str(error.message).strip().partition("\n")[0].rstrip(".")
        raise PlumeError(
            f"Milvus at {at} refuses, or is not there: {said}. Is it running, and is the address right? "
            "A token comes from MILVUS_TOKEN or the URL in --backend."
        ) from None
