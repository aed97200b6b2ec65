"""Indexes searched by meaning, by words or by both; with what each side says of a hit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictInt, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.search.hits import Hit
from plume.search.ranking import CANDIDATES
from plume.serve.engine.engine import ServingEngine
from plume.serve.errors import Unreadable
from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import blamed, read_body, taken
from plume.serve.operations.rerank import OPERATION as RERANK
from plume.serve.operations.rerank import RerankAsked
from plume.serve.operations.search import OPERATION as SEARCH
from plume.serve.operations.search import SearchAsked

ROUTER = APIRouter(tags=["search"])


class SearchRequest(BaseModel):
    """A query in words, or the vector of one."""

    query: StrictStr | None = Field(None, min_length=1)
    vector: list[float] | None = Field(None, min_length=1, description="In place of the query; as wide as the index's.")
    top: StrictInt = Field(10, ge=1, le=1000)
    where: StrictStr | None = Field(None, description="A filter over the metadata: year >= 2020 and lang = 'en'.")
    mode: Literal["vectors", "words", "hybrid"] | None = Field(None, description="Both merged, where the index has both.")
    rerank: StrictStr | None = Field(None, description="The name of a served model that reads the best hits again.")
    exact: bool = Field(False, description="Compare with all vectors.")


class SearchHit(BaseModel):
    """A passage, and why it was found: the score of each side that has found it, and the words of the query that it holds."""

    id: str
    score: float
    text: str
    start: int
    end: int
    metadata: dict[str, Any]
    vectors: float | None = None
    words: float | None = None
    rerank: float | None = None
    matched: list[str]


class SearchAnswer(BaseModel):
    """The best first."""

    index: str
    mode: str
    hits: list[SearchHit]


@ROUTER.post("/search/{index}", response_model=SearchAnswer, openapi_extra=described(SearchRequest))
async def search(index: str, request: Request) -> Response:
    """The passages that answer a query best, as `plume search` finds them."""
    asked = await read_body(request, SearchRequest)
    engine = taken(request, index, [asked.query or ""], "query")
    query = _query(asked)
    top = max(asked.top, CANDIDATES) if asked.rerank is not None else asked.top
    found = await engine.ask(SEARCH, index, SearchAsked(query=query, top=top, where=asked.where, by=asked.mode, exact=asked.exact))
    if asked.rerank is not None:
        with blamed("rerank"):
            found = await _reranked(engine, asked.rerank, asked.query or "", found)
    known = engine.about[index].index  # which also says it if the index was unloaded meanwhile
    mode = "vectors" if asked.vector is not None or known is None else asked.mode or known.modes[0]
    return as_json({"index": index, "mode": mode, "hits": [hit.as_json() for hit in found[: asked.top]]})


def _query(asked: SearchRequest) -> str | tuple[float, ...]:
    if (asked.query is None) == (asked.vector is None):
        raise Unreadable("query: give a query or a vector, one of the two.", param="query")
    if asked.vector is not None:
        if asked.mode not in (None, "vectors") or asked.rerank is not None:
            raise Unreadable("vector: it says no words: leave out mode and rerank.", param="vector")
        return tuple(asked.vector)
    assert asked.query is not None
    return asked.query


async def _reranked(engine: ServingEngine, model: str, query: str, hits: list[Hit]) -> list[Hit]:
    if not hits:
        engine.shelf.about(model)
        return hits
    found = await engine.ask(RERANK, model, RerankAsked(query=query, documents=[hit.text for hit in hits]))
    again = [replace(hit, score=score, rerank=score) for hit, score in zip(hits, found.scores, strict=True)]
    return sorted(again, key=lambda hit: -hit.score)
