"""What a network computes for each token."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictInt, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import note_of, read_body, taken
from plume.serve.http.endpoints.text_scores import several
from plume.serve.operations.hidden import OPERATION, HiddenAsked, HiddenStates

ROUTER = APIRouter(tags=["hidden"])


class HiddenRequest(BaseModel):
    """Texts, and the layers whose states are wanted."""

    model: StrictStr
    inputs: StrictStr | list[StrictStr] = Field(description="A text, or several.")
    layers: list[StrictInt] = Field([-1], min_length=1, max_length=100, description="0: the embeddings; -1: the last.")
    encoding_format: Literal["float", "base64"] = "float"
    language: StrictStr | None = Field(None, description="Multilingual models (xlm): that of all texts; found if it is not said.")


class TokenPlace(BaseModel):
    """A token, and where it stands in the text; special tokens stand nowhere."""

    token: str
    start: int | None
    end: int | None


class LayerStates(BaseModel):
    """[tokens, width] as lists of numbers, or as the base64 of little-endian float32."""

    layer: int
    shape: tuple[int, int]
    states: list[list[float]] | str


class HiddenText(BaseModel):
    """Of one text."""

    tokens: list[TokenPlace]
    layers: list[LayerStates]


class HiddenAnswer(BaseModel):
    """One for each text."""

    model: str
    results: list[HiddenText]


@ROUTER.post("/hidden", response_model=HiddenAnswer, openapi_extra=described(HiddenRequest))
async def hidden(request: Request) -> Response:
    """States of every token, special ones included, in the layers that are asked for."""
    asked = await read_body(request, HiddenRequest)
    texts = several(asked.inputs)
    engine = taken(request, asked.model, texts, "inputs")
    found = await engine.ask(OPERATION, asked.model, HiddenAsked(texts=texts, layers=tuple(asked.layers), language=asked.language))
    note_of(request).tokens = sum(len(one.tokens) for one in found)
    return await asyncio.to_thread(_written, asked, found)


def _written(asked: HiddenRequest, found: list[HiddenStates]) -> Response:
    return as_json({"model": asked.model, "results": [_text(one, asked) for one in found]})


def _text(one: HiddenStates, asked: HiddenRequest) -> dict[str, Any]:
    places = [(None, None) if place is None else place for place in one.places]
    return {
        "tokens": [{"token": token, "start": start, "end": end} for token, (start, end) in zip(one.tokens, places, strict=True)],
        "layers": [
            {"layer": layer, "shape": states.shape, "states": _numbers(states, asked.encoding_format)}
            for layer, states in zip(asked.layers, one.layers, strict=True)
        ],
    }


def _numbers(states: np.ndarray, encoding: str) -> Any:
    states = np.ascontiguousarray(states, "<f4")
    return b64encode(states.tobytes()).decode() if encoding == "base64" else states
