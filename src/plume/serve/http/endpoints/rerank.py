"""Documents ranked for a query: as Cohere, Jina and infinity have it (`documents`), and as TEI has it (`texts`)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictInt, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.errors import Unreadable
from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import check_texts, engine_of, model_for, note_of, read_body
from plume.serve.operations.rerank import OPERATION, RerankAsked

ROUTER = APIRouter(tags=["rerank"])


class DocumentText(BaseModel):
    """Cohere's clients may wrap a text."""

    text: StrictStr


class RerankRequest(BaseModel):
    """A query, and `documents` or `texts`: which of the two decides what the answer looks like."""

    model: StrictStr | None = Field(None, description="May be left out if one model only is served.")
    query: StrictStr = Field(min_length=1)
    documents: list[StrictStr | DocumentText] | None = Field(None, min_length=1, description="As Cohere, Jina and infinity name them.")
    texts: list[StrictStr] | None = Field(None, min_length=1, description="As TEI names them.")
    top_n: StrictInt | None = Field(None, ge=1, description="Only the best.")
    return_documents: bool = False
    return_text: bool = Field(False, description="TEI's return_documents.")


class RankedDocument(BaseModel):
    """Where it stood, and how well it answers."""

    index: int
    relevance_score: float
    document: DocumentText | None = None


class RankedText(BaseModel):
    """The same in TEI's words."""

    index: int
    score: float
    text: str | None = None


class RerankUsage(BaseModel):
    """Tokens that were read."""

    prompt_tokens: int
    total_tokens: int


class RerankAnswer(BaseModel):
    """The best first; `by` says what gave the scores: a cross-encoder, or the cosine of vectors."""

    object: str = "rerank"
    model: str
    by: str
    results: list[RankedDocument]
    usage: RerankUsage


@ROUTER.post("/v2/rerank", include_in_schema=False)
@ROUTER.post("/v1/rerank", include_in_schema=False)
@ROUTER.post("/rerank", response_model=RerankAnswer | list[RankedText], openapi_extra=described(RerankRequest))
async def rerank(request: Request) -> Response:
    """Documents in the order of their relevance: by a model tuned on pairs (similarity, paraphrase, nli), else by their vectors."""
    asked = await read_body(request, RerankRequest)
    texts = _texts(asked)
    engine, note = engine_of(request), note_of(request)
    model = model_for(engine, asked.model, OPERATION)
    note.model, note.texts = model, [asked.query, *texts]
    check_texts(engine.settings, [asked.query], "query")
    check_texts(engine.settings, texts, "documents" if asked.texts is None else "texts")
    found = await engine.ask(OPERATION, model, RerankAsked(query=asked.query, documents=texts))
    note.tokens = found.tokens
    best = sorted(range(len(texts)), key=lambda place: -found.scores[place])[: asked.top_n]
    if asked.texts is not None:
        told = [{"index": place, "score": found.scores[place]} | ({"text": texts[place]} if asked.return_text else {}) for place in best]
        return as_json(told)
    results = [_ranked(place, found.scores[place], texts[place] if asked.return_documents else None) for place in best]
    usage = {"prompt_tokens": found.tokens, "total_tokens": found.tokens}
    return as_json({"object": "rerank", "model": model, "by": found.by, "results": results, "usage": usage})


def _ranked(place: int, score: float, text: str | None) -> dict[str, Any]:
    return {"index": place, "relevance_score": score} | ({} if text is None else {"document": {"text": text}})


def _texts(asked: RerankRequest) -> list[str]:
    if (asked.documents is None) == (asked.texts is None):
        raise Unreadable("documents: give documents (Cohere, Jina, infinity) or texts (TEI), one of the two.", param="documents")
    return [one if isinstance(one, str) else one.text for one in asked.documents or asked.texts or ()]
