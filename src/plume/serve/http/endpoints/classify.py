"""Labels of texts: as infinity has it (`input`), and as TEI has it (`inputs`)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.errors import BadRequest, Unreadable
from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import engine_of, model_for, read_body, taken
from plume.serve.operations.predict import OPERATION, PredictAsked

ROUTER = APIRouter(tags=["classify"])
Text = StrictStr | list[StrictStr]  # one, or the two of a pair


class ClassifyRequest(BaseModel):
    """`input` or `inputs`: which of the two decides what the answer looks like."""

    model: StrictStr | None = Field(None, description="May be left out if one tuned model only is served.")
    input: list[Text] | StrictStr | None = Field(None, description="As infinity names them: texts, or pairs.")
    inputs: list[Text] | StrictStr | None = Field(None, description="As TEI names them.")
    task: StrictStr | None = Field(None, description="Of a model that was tuned for several.")
    raw_scores: bool = Field(False, description="Not given: scores are probabilities.")


class LabelScore(BaseModel):
    """A label, and how likely it is."""

    label: str
    score: float


class ClassifyAnswer(BaseModel):
    """For each text all labels, the likeliest first."""

    object: str = "classify"
    model: str
    data: list[list[LabelScore]]


@ROUTER.post("/predict", include_in_schema=False)
@ROUTER.post(
    "/classify", response_model=ClassifyAnswer | list[list[LabelScore]] | list[LabelScore], openapi_extra=described(ClassifyRequest)
)
async def classify(request: Request) -> Response:
    """Probabilities of all labels, of a model that was tuned for them."""
    asked = await read_body(request, ClassifyRequest)
    given = asked.input if asked.inputs is None else asked.inputs
    if (asked.input is None) == (asked.inputs is None) or not given:
        raise Unreadable("input: give input (infinity) or inputs (TEI), one of the two, with at least one text.", param="input")
    if asked.raw_scores:
        raise BadRequest("Raw scores are not given: leave out raw_scores, and take the probabilities.", param="raw_scores")
    texts = [given] if isinstance(given, str) else given
    model = model_for(engine_of(request), asked.model, OPERATION)
    engine = taken(request, model, texts, "input")
    try:
        found = await engine.ask(OPERATION, model, PredictAsked(items=texts, task=asked.task))
    except Unreadable as error:
        error.param = "input" if asked.inputs is None else "inputs"
        raise
    data = [_labels(model, one) for one in found]
    if asked.inputs is not None:
        return as_json(data[0] if isinstance(given, str) else data)
    return as_json({"object": "classify", "model": model, "data": data})


def _labels(model: str, prediction: dict[str, Any]) -> list[dict[str, Any]]:
    if "scores" not in prediction:
        raise BadRequest(f"'{model}' gives no label to a text: ask /predict/{model}.", param="model")
    scores = sorted(prediction["scores"].items(), key=lambda one: -one[1])
    return [{"label": label, "score": score} for label, score in scores]
