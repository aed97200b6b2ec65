"""The client of Elasticsearch, and what an index is declared with there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plume.core.errors import PlumeError
from plume.search.address import BackendAddress
from plume.search.backends._shared import AUTO, FLAT
from plume.search.embedded.postings import K1, B
from plume.search.settings import IndexSettings, Metric
from plume.search.where.json_fields import LOWER, TOKENS, json_field
from plume.search.where.tree import MetadataType

TYPES = {AUTO: "hnsw", "hnsw": "hnsw", FLAT: "flat", "hnsw-sq": "int8_hnsw", "sq": "int8_flat"}
SETTINGS = {"number_of_shards": 1, "similarity": {"plume": {"type": "BM25", "k1": K1, "b": B}}}
_KEYWORD = {"type": "keyword", "ignore_above": 8_191}  # characters: what Lucene takes in 32,766 bytes
_NUMBER = {"type": "double", "fields": {"whole": {"type": "long", "ignore_malformed": True}}}
_FIELDS: dict[MetadataType, dict[str, Any]] = {
    MetadataType.TEXT: {"": _KEYWORD, LOWER: _KEYWORD},
    MetadataType.INT: {"": _NUMBER},
    MetadataType.REAL: {"": _NUMBER},
    MetadataType.BOOL: {"": {"type": "boolean"}},
    MetadataType.LIST: {TOKENS: _KEYWORD},
}


def client_module() -> Any:
    """The module."""
    try:
        import elasticsearch.helpers
    except ImportError:
        raise PlumeError("An index in Elasticsearch needs its client: pip install 'plume-lm[elasticsearch]'.") from None
    return elasticsearch


def connect(url: str) -> Any:
    """A client of a server."""
    address = BackendAddress.parse(url)
    password, key = address.password or os.environ.get("ELASTIC_PASSWORD"), os.environ.get("ELASTIC_API_KEY")
    options: dict[str, Any] = {"api_key": key} if key else {"basic_auth": (address.user or "elastic", password)} if password else {}
    return client_module().Elasticsearch(address.http(9_200) + address.path.rstrip("/"), request_timeout=60, max_retries=0, **options)


def mappings(settings: IndexSettings) -> dict[str, Any]:
    """Of an index without metadata yet."""
    whole, unread = {"type": "long"}, {"type": "text", "index": False}
    properties = {
        "key": whole,
        "document": _KEYWORD,
        "number": whole,
        "start": whole,
        "end": whole,
        "text": unread,
        **mapped(0, MetadataType.TEXT),
    }
    if settings.words is not None:
        properties["words"] = {"type": "text", "analyzer": "whitespace", "similarity": "plume"}
    if settings.dimension is not None:
        similarity = "l2_norm" if metric_of(settings) is Metric.DISTANCE else "max_inner_product"
        properties["vector"] = {
            "type": "dense_vector", "dims": settings.dimension, "index": True, "similarity": similarity,
            "index_options": {"type": TYPES[settings.type]},
        }  # fmt: skip
    return {"dynamic": False, "_meta": {"columns": {}}, "properties": properties}


def mapped(place: int, kind: MetadataType) -> dict[str, Any]:
    """A field of metadata."""
    return {f"{json_field(place)}{which}": how for which, how in _FIELDS[kind].items()}


def metric_of(settings: IndexSettings) -> Metric:
    """Cosines are products of unit vectors."""
    return Metric.DISTANCE if settings.metric is Metric.DISTANCE else Metric.PRODUCT


@contextmanager
def clear_errors(name: str, at: str) -> Iterator[None]:
    """What the server at `at` refuses about the index `name`, in words."""
    module = client_module()
    try:
        yield
    except module.NotFoundError:
        raise PlumeError(f"The index {name} is not at {at}: it was removed there. Build it again.") from None
    except (module.AuthenticationException, module.AuthorizationException):
        raise PlumeError(
            f"Elasticsearch at {at} refuses this user: set ELASTIC_PASSWORD or ELASTIC_API_KEY, or give the URL with --backend."
        ) from None
    except (module.ApiError, module.helpers.BulkIndexError) as error:
        raise PlumeError(f"Elasticsearch at {at} refuses it: {str(error)[:300]}.") from None
    except module.TransportError as error:
        raise PlumeError(f"No answer from Elasticsearch at {at}: {error.message}. Is it running, and is the address right?") from None
