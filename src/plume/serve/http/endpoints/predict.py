"""Answers of fine-tuned models: labels, entities with offsets, answers from a context, summaries …"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictBool, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.errors import Unreadable
from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import read_body, taken
from plume.serve.operations.predict import OPERATION, PredictAsked
from plume.serve.operations.zero_shot import OPERATION as ZERO_SHOT
from plume.serve.operations.zero_shot import ZeroShotAsked

ROUTER = APIRouter(tags=["predict"])


class PredictRequest(BaseModel):
    """What the task reads: a text, the two of a pair, or an object (a question and its context)."""

    inputs: list[StrictStr | list[StrictStr] | dict[str, Any]] = Field(min_length=1, description="One item for each answer.")
    task: StrictStr | None = Field(None, description="Of a model that was tuned for several.")
    labels: list[StrictStr] | dict[StrictStr, StrictStr] | None = Field(
        None, min_length=1, max_length=1000, description="Zero-shot: choose from these, or from what is said for each, without fine-tuning."
    )
    template: StrictStr | None = Field(None, description="Zero-shot: a sentence with {} or ___ for the label.")
    multi_label: StrictBool = Field(False, description="Zero-shot: score each label by itself.")
    way: Literal["entailment", "cloze"] | None = Field(None, description="Zero-shot: by which.")
    language: StrictStr | None = Field(None, description="Multilingual models (xlm): that of all texts, or en,de for pairs.")


class PredictAnswer(BaseModel):
    """One answer for each item, as `plume predict` writes them."""

    model: str
    predictions: list[dict[str, Any]]


@ROUTER.post("/predict/{model}", response_model=PredictAnswer, openapi_extra=described(PredictRequest))
async def predict(model: str, request: Request) -> Response:
    """Whatever the model was tuned for."""
    asked = await read_body(request, PredictRequest)
    engine = taken(request, model, asked.inputs, "inputs")
    if asked.labels is not None:
        return as_json({"model": model, "predictions": await engine.ask(ZERO_SHOT, model, _zero_shot(asked))})
    found = await engine.ask(OPERATION, model, PredictAsked(items=asked.inputs, task=asked.task, language=asked.language))
    return as_json({"model": model, "predictions": found})


def _zero_shot(asked: PredictRequest) -> ZeroShotAsked:
    labels = asked.labels if isinstance(asked.labels, dict) else {label: label for label in asked.labels or ()}
    if len(labels) < len(asked.labels or ()):
        raise Unreadable("labels: a label comes twice.", param="labels")
    texts = [item for item in asked.inputs if isinstance(item, str)]
    if len(texts) < len(asked.inputs):
        raise Unreadable("inputs: zero-shot reads texts, not pairs or records.", param="inputs")
    return ZeroShotAsked(
        texts=texts, labels=tuple(labels.items()), template=asked.template, multi_label=asked.multi_label, way=asked.way, language=asked.language
    )  # fmt: skip
