"""The nearest vectors by pgvector (0.8 or newer): exact, or by an index that goes on looking until a filter has let enough through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.search.backend import Vectors
from plume.search.backends._shared import AUTO, FLAT, SMALL
from plume.search.settings import IndexSettings, Metric

TYPES = (FLAT, "hnsw", "ivf")
_WIDEST = 2_000  # dimensions that pgvector can index
_OPERATORS = {Metric.COSINE: ("<#>", "vector_ip_ops"), Metric.PRODUCT: ("<#>", "vector_ip_ops"), Metric.DISTANCE: ("<->", "vector_l2_ops")}
_INDEX = "passages_vector"
Row = tuple[int, float]


def written(vector: NDArray[Any]) -> str:
    """As pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def check_extension(connection: Any, settings: IndexSettings, address: str) -> None:
    """pgvector, new enough for what is asked."""
    if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
        raise PlumeError(f"PostgreSQL at {address} has no pgvector: install the extension on the server (package postgresql-…-pgvector).")
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    version = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()[0]
    if tuple(map(int, version.split(".")[:2])) < (0, 8):
        raise PlumeError(f"PostgreSQL at {address} has pgvector {version}; plume needs 0.8 or newer: ALTER EXTENSION vector UPDATE.")
    if settings.type not in (AUTO, FLAT) and (settings.dimension or 0) > _WIDEST:
        raise PlumeError(
            f"--type {settings.type}: pgvector indexes at most {_WIDEST:,} dimensions, not {settings.dimension}: give --type flat."
        )


def built(connection: Any, schema: str) -> str | None:
    """The type of the index that there is."""
    row = connection.execute(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = %s AND indexname = %s", [schema, _INDEX]
    ).fetchone()  # fmt: skip
    return None if row is None else "hnsw" if "USING hnsw" in row[0] else "ivf"


def build(connection: Any, schema: str, settings: IndexSettings, rows: int) -> str | None:
    """The index that the settings ask for, unless it is there; what to tell."""
    wanted = settings.type
    if wanted == AUTO:
        wanted = "hnsw" if rows > SMALL and (settings.dimension or 0) <= _WIDEST else FLAT
    if wanted == FLAT or not rows or built(connection, schema) is not None:
        return None
    _, operators = _OPERATORS[settings.metric]
    how = "hnsw" if wanted == "hnsw" else "ivfflat"
    options = "" if wanted == "hnsw" else f" WITH (lists = {_lists(rows)})"
    connection.execute(f"CREATE INDEX {_INDEX} ON passages USING {how} (vector {operators}){options}")
    return f"PostgreSQL built {how} over {rows:,} passages"


def _lists(rows: int) -> int:
    """As pgvector's guide has it."""
    return max(1, rows // 1_000 if rows <= 1_000_000 else math.isqrt(rows))


def find(
    connection: Any, schema: str, queries: Vectors, metric: Metric, where: str, values: Sequence[Any], *, top: int, exact: bool
) -> list[list[Row]]:
    """Of each query. Where an index brought fewer than asked for, all are compared: it may have given up too early."""
    sign, _ = _OPERATORS[metric]
    index = None if exact else built(connection, schema)
    if index is not None:
        _look_far(connection, top)
    far = f"vector {sign} %s::vector"
    by_index = f"SELECT key, {far} FROM passages {where} ORDER BY {far} LIMIT %s"
    by_all = f"SELECT key, {far} FROM passages {where} ORDER BY ({far}) + 0, key LIMIT %s"
    found = []
    for query in queries:
        asked = [written(query), *values, written(query), top]
        rows = [] if index is None else connection.execute(by_index, asked).fetchall()
        if len(rows) < top:
            rows = connection.execute(by_all, asked).fetchall()
        found.append([(key, -(away**2) if metric is Metric.DISTANCE else -away) for key, away in rows])
    return found


def _look_far(connection: Any, top: int) -> None:
    """Until the transaction ends: filters are asked after the index, which then has to go on (iterative scans)."""
    rows = connection.execute("SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'passages'::regclass").fetchone()[0]
    options = {
        "hnsw.ef_search": min(1_000, max(100, 2 * top)),
        "hnsw.iterative_scan": "strict_order",
        "hnsw.max_scan_tuples": 50_000,
        "ivfflat.probes": math.isqrt(_lists(rows)) + 2,
        "ivfflat.iterative_scan": "relaxed_order",
    }
    said = ", ".join(["set_config(%s, %s, true)"] * len(options))
    connection.execute(f"SELECT {said}", [str(one) for option in options.items() for one in option])
