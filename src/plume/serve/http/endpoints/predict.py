"""Answers of fine-tuned models: labels, entities with offsets, answers from a context, summaries …"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import check_texts, engine_of, note_of, read_body
from plume.serve.operations.predict import OPERATION, PredictAsked

ROUTER = APIRouter(tags=["predict"])


class PredictRequest(BaseModel):
    """What the task reads: a text, the two of a pair, or an object (a question and its context)."""

    inputs: list[StrictStr | list[StrictStr] | dict[str, Any]] = Field(min_length=1, description="One item for each answer.")
    task: StrictStr | None = Field(None, description="Of a model that was tuned for several.")
    language: StrictStr | None = Field(None, description="Multilingual models (xlm): that of all texts, or en,de for pairs.")


class PredictAnswer(BaseModel):
    """One answer for each item, as `plume predict` writes them."""

    model: str
    predictions: list[dict[str, Any]]


@ROUTER.post("/predict/{model}", response_model=PredictAnswer, openapi_extra=described(PredictRequest))
async def predict(model: str, request: Request) -> Response:
    """Whatever the model was tuned for."""
    asked = await read_body(request, PredictRequest)
    engine, note = engine_of(request), note_of(request)
    note.model, note.texts = model, asked.inputs
    check_texts(engine.settings, asked.inputs, "inputs")
    found = await engine.ask(OPERATION, model, PredictAsked(items=asked.inputs, task=asked.task, language=asked.language))
    return as_json({"model": model, "predictions": found})
