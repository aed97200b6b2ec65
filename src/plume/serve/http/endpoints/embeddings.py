"""Sentence vectors, as OpenAI's clients ask for them. The hottest endpoint: it reads and writes its JSON itself."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Literal

import orjson
from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictInt, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.errors import Unreadable
from plume.serve.http.answers import described
from plume.serve.http.asked import note_of, read_body, taken
from plume.serve.operations.embed import OPERATION, EmbedAsked, Embedded

ROUTER = APIRouter(tags=["embeddings"])
_MANY = 50_000  # numbers: written in a thread, row by row, so that others get their turn


class EmbeddingsRequest(BaseModel):
    """What OpenAI's `embeddings.create` sends."""

    model: StrictStr
    input: StrictStr | list[StrictStr] | list[StrictInt] | list[list[StrictInt]] = Field(
        description="A text, several, the token ids of a text, or of several."
    )
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: StrictInt | None = Field(None, ge=1, description="Keep the first ones only.")
    user: str | None = Field(None, description="Not used.")
    language: StrictStr | None = Field(None, description="Multilingual models (xlm): that of all texts; found if it is not said.")


class EmbeddingAnswer(BaseModel):
    """One vector: numbers, or the base64 of little-endian float32."""

    object: str = "embedding"
    index: int
    embedding: list[float] | str


class Usage(BaseModel):
    """Tokens that the model has read, special ones counted."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(BaseModel):
    """One vector for each text, in their order."""

    object: str = "list"
    data: list[EmbeddingAnswer]
    model: str
    usage: Usage


@ROUTER.post("/v1/embeddings", response_model=EmbeddingsAnswer, openapi_extra=described(EmbeddingsRequest))
async def embeddings(request: Request) -> Response:
    """A vector for each text, as `plume embed` gives them."""
    asked = await read_body(request, EmbeddingsRequest)
    texts = listed(asked.input)
    engine = taken(request, asked.model, texts, "input")
    found = await engine.ask(OPERATION, asked.model, EmbedAsked(texts=texts, dimensions=asked.dimensions, language=asked.language))
    note_of(request).tokens = found.tokens
    write = _base64 if asked.encoding_format == "base64" else _floats
    rows = write(found) if found.vectors.size < _MANY else await asyncio.to_thread(write, found)
    name, tokens = orjson.dumps(asked.model), found.tokens
    body = b'{"object":"list","data":[%b],"model":%b,"usage":{"prompt_tokens":%d,"total_tokens":%d}}' % (rows, name, tokens, tokens)
    return Response(body, media_type="application/json")


QUICK = {("POST", "/v1/embeddings"): embeddings}


def listed(given: str | list[str] | list[int] | list[list[int]]) -> list[str | list[int]]:
    """A text each, or its token ids."""
    if isinstance(given, str):
        return [given]
    if not given:
        raise Unreadable("input: give at least one text.", param="input")
    if isinstance(given[0], int):
        return [[number for number in given if isinstance(number, int)]]
    if any(not one for one in given if isinstance(one, list)):
        raise Unreadable("input: a list of token ids is empty.", param="input")
    return [one for one in given if not isinstance(one, int)]


def _floats(found: Embedded) -> bytes:
    """Every number with as many digits as its float32 needs."""
    return b",".join(
        b'{"object":"embedding","index":%d,"embedding":%b}' % (number, orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY))
        for number, row in enumerate(found.vectors)
    )


def _base64(found: Embedded) -> bytes:
    rows = found.vectors.astype("<f4", copy=False)
    return b",".join(
        b'{"object":"embedding","index":%d,"embedding":"%b"}' % (number, b64encode(row.tobytes())) for number, row in enumerate(rows)
    )
