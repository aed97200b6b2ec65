"""How well an index answers: queries with the documents that are right, by vectors, by words and by both; and what approximation costs.

A file has a query and a document's id a line, with a tab between (and, if some are better answers than others, a grade); a query may stand on
several lines. Or JSONL: {"query": "…", "ids": ["…"]}.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from plume.core.errors import PlumeError
from plume.data.documents import is_jsonl
from plume.readers.json_rows import read_objects
from plume.readers.table_rows import TableFormat, filled, table_rows
from plume.search.arguments import positive
from plume.search.index import By, Index

_ADVICE = 'write a query and the id of a document that answers it on each line, with a tab between; or {"query": "…", "ids": ["…"]}'
_HEADERS = {"query", "question", "queries", "text"}
_DEPTH = 10  # of MRR and nDCG
_MOST_TIMED = 200  # queries asked one by one, for the time each takes


@dataclass(frozen=True, kw_only=True)
class SideScores:
    """One way of searching, over all queries."""

    by: str
    queries: int
    recall: Mapping[int, float]  # at k: the share of right documents among the first k
    mrr: float  # mean reciprocal rank of the first right one, of ten
    ndcg: float  # at 10
    milliseconds: float  # a query asked alone, the median
    exact: float | None = None  # share of the 10 nearest that exact search finds which this found too; None: nothing was approximate

    def as_json(self) -> dict[str, object]:
        """For --json."""
        recall = {f"recall@{k}": value for k, value in self.recall.items()}
        more = {} if self.exact is None else {"against_exact": self.exact}
        return {"by": self.by, "queries": self.queries} | recall | {"mrr": self.mrr, "ndcg@10": self.ndcg, "ms": self.milliseconds} | more


def read_queries(path: Path) -> dict[str, dict[str, float]]:
    """Queries with the ids of the right documents and their grades."""
    if not path.is_file():
        raise PlumeError(f"There is no file {path}.")
    found: dict[str, dict[str, float]] = {}
    if is_jsonl(path):
        for line, record in read_objects(path, advice=_ADVICE):
            ids = record.get("ids", [record.get("id")])
            if not isinstance(record.get("query"), str) or not isinstance(ids, list) or None in ids:
                raise PlumeError(f"{path}, line {line}: needs 'query' and 'ids'; {_ADVICE}.")
            found.setdefault(record["query"], {}).update({str(one): 1.0 for one in ids})
        return _some(found, path)
    for number, (line, cells) in enumerate(filled(table_rows(path, TableFormat.TSV))):
        if number == 0 and cells[0].strip().lower() in _HEADERS:
            continue
        if len(cells) not in (2, 3):
            raise PlumeError(f"{path}, line {line}: {len(cells)} columns; {_ADVICE}.")
        try:
            grade = float(cells[2]) if len(cells) == 3 else 1.0
        except ValueError:
            raise PlumeError(f"{path}, line {line}: the grade is {cells[2][:40]!r}, which is no number; {_ADVICE}.") from None
        found.setdefault(cells[0], {})[cells[1]] = grade
    return _some(found, path)


def _some(found: dict[str, dict[str, float]], path: Path) -> dict[str, dict[str, float]]:
    right = {query: {one: grade for one, grade in ids.items() if grade > 0} for query, ids in found.items()}
    right = {query: ids for query, ids in right.items() if ids and query.strip()}
    if not right:
        raise PlumeError(f"{path} is empty: {_ADVICE}.")
    return right


def evaluate(
    index: Index, queries: Mapping[str, Mapping[str, float]], *, ks: Sequence[int] = (1, 5, 10), where: str | None = None,
    by: By | None = None, rerank: object = None, exact: bool = False,
) -> list[SideScores]:  # fmt: skip
    """Each way that the index can be searched, or the one that was asked for; `exact`: compared with all vectors."""
    for k in ks:
        positive(k, "--top")
    sides: tuple[By, ...] = (by,) if by else get_args(By) if index.default_by == "hybrid" else (index.default_by,)
    known = index.backend.has([one for ids in queries.values() for one in ids])
    if not known:
        raise PlumeError(f"None of the documents that the queries name is in {index.folder}. Are these the ids of another index?")
    asked = {"where": where, "rerank": rerank}
    return [_side(index, queries, ks, asked | {"by": side, "exact": exact and side != "words"}) for side in sides]


def _side(index: Index, queries: Mapping[str, Mapping[str, float]], ks: Sequence[int], asked: dict[str, Any]) -> SideScores:
    texts, depth = list(queries), max(*ks, _DEPTH)
    documents, passages = index.backend.count()
    top = depth * min(10, math.ceil(passages / max(1, documents)) + 1) if passages > documents else depth
    found = [_documents(hits) for hits in index.search_many(texts, top=top, **asked)]
    exact = None
    if asked["by"] != "words" and not asked["exact"]:
        right = [_documents(hits)[:_DEPTH] for hits in index.search_many(texts, top=top, **asked | {"exact": True})]
        exact = statistics.fmean(len(set(one[:_DEPTH]) & set(other)) / max(1, len(other)) for one, other in zip(found, right, strict=True))
    times = []
    for text in texts[:_MOST_TIMED]:
        began = time.perf_counter()
        index.search(text, top=_DEPTH, **asked)
        times.append(1_000 * (time.perf_counter() - began))
    right_ids = list(queries.values())
    return SideScores(
        by=asked["by"],
        queries=len(texts),
        recall={k: statistics.fmean(map(lambda one, ids, k=k: recall_at(one, ids, k), found, right_ids)) for k in ks},  # type: ignore[misc]
        mrr=statistics.fmean(map(reciprocal_rank, found, right_ids)),
        ndcg=statistics.fmean(map(ndcg, found, right_ids)),
        milliseconds=statistics.median(times),
        exact=exact,
    )


def _documents(hits: Sequence[object]) -> list[str]:
    return list(dict.fromkeys(hit.id for hit in hits))  # type: ignore[attr-defined]


def recall_at(found: Sequence[str], right: Mapping[str, float], k: int) -> float:
    """Of the right documents, the share among the first k.

    >>> recall_at(["a", "b", "c"], {"b": 1.0, "d": 1.0}, 2)
    0.5
    """
    return len(set(found[:k]) & set(right)) / min(len(right), max(k, 1))


def reciprocal_rank(found: Sequence[str], right: Mapping[str, float]) -> float:
    """Of the first right one among ten."""
    return next((1 / rank for rank, one in enumerate(found[:_DEPTH], start=1) if one in right), 0.0)


def ndcg(found: Sequence[str], right: Mapping[str, float]) -> float:
    """Järvelin and Kekäläinen 2002: gains discounted by the logarithm of the rank, as a share of the best order's.

    >>> round(ndcg(["x", "a"], {"a": 1.0}), 4)
    0.6309
    """
    gained = sum(right.get(one, 0.0) / math.log2(rank + 1) for rank, one in enumerate(found[:_DEPTH], start=1))
    ideal = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(sorted(right.values(), reverse=True)[:_DEPTH], start=1))
    return gained / ideal


def shown(scores: Sequence[SideScores]) -> str:
    """A table to print."""
    ks = list(scores[0].recall)
    lines = [f"{'by':<8} " + " ".join(f"{f'recall@{k}':>9}" for k in ks) + f" {'MRR@10':>7} {'nDCG@10':>8} {'ms':>7} {'of exact':>9}"]
    for one in scores:
        recalls = " ".join(f"{one.recall[k]:>9.4f}" for k in ks)
        exact = "" if one.exact is None else f"{one.exact:.3f}"
        lines.append(f"{one.by:<8} {recalls} {one.mrr:>7.4f} {one.ndcg:>8.4f} {one.milliseconds:>7.2f} {exact:>9}")
    return "\n".join(lines)
