"""Blanks filled, and how likely texts are."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictInt, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.errors import Unreadable
from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import read_body, taken
from plume.serve.operations.fill import OPERATION as FILL
from plume.serve.operations.fill import FillAsked
from plume.serve.operations.score import OPERATION as SCORE
from plume.serve.operations.score import ScoreAsked

ROUTER = APIRouter(tags=["fill and score"])
_LANGUAGE = "Multilingual models (xlm): that of all texts; found if it is not said."


class FillRequest(BaseModel):
    """Texts with blanks."""

    model: StrictStr
    inputs: StrictStr | list[StrictStr] = Field(description="A text with blanks, or several; a blank is ___ or the model's mask token.")
    top: StrictInt = Field(5, ge=1, le=1000, description="Guesses for each blank.")
    language: StrictStr | None = Field(None, description=_LANGUAGE)


class FillGuess(BaseModel):
    """One guess: what stands in the blank, how likely, and the text with it."""

    token: str
    probability: float
    text: str


class FillAnswer(BaseModel):
    """For each text, for each of its blanks, the likeliest guesses first."""

    model: str
    results: list[list[list[FillGuess]]]


class ScoreRequest(BaseModel):
    """Texts to be scored."""

    model: StrictStr
    inputs: StrictStr | list[StrictStr] = Field(description="A text, or several.")
    source: StrictStr | list[StrictStr] | None = Field(None, description="Models that write after reading (t5, bart …): what they read.")
    language: StrictStr | None = Field(None, description=_LANGUAGE)


class TextScore(BaseModel):
    """In nats; exact for models that read from left to right, the pseudo-log-likelihood of masked ones."""

    log_probability: float
    tokens: int
    perplexity: float


class ScoreAnswer(BaseModel):
    """One for each text."""

    model: str
    results: list[TextScore]


@ROUTER.post("/fill", response_model=FillAnswer, openapi_extra=described(FillRequest))
async def fill(request: Request) -> Response:
    """The likeliest fillings of each blank, as `plume fill` gives them."""
    asked = await read_body(request, FillRequest)
    texts = several(asked.inputs)
    engine = taken(request, asked.model, texts, "inputs")
    found = await engine.ask(FILL, asked.model, FillAsked(texts=texts, top=asked.top, language=asked.language))
    return as_json({"model": asked.model, "results": [[[asdict(guess) for guess in blank] for blank in text] for text in found]})


@ROUTER.post("/score", response_model=ScoreAnswer, openapi_extra=described(ScoreRequest))
async def score(request: Request) -> Response:
    """Log-probability and perplexity of each text, as `plume score` gives them."""
    asked = await read_body(request, ScoreRequest)
    texts = several(asked.inputs)
    engine = taken(request, asked.model, texts, "inputs")
    sources = None if asked.source is None else [asked.source] * len(texts) if isinstance(asked.source, str) else asked.source
    if sources is not None and len(sources) != len(texts):
        raise Unreadable(f"source: one for all texts, or one for each of the {len(texts)}, not {len(sources)}.", param="source")
    found = await engine.ask(SCORE, asked.model, ScoreAsked(texts=texts, sources=sources, language=asked.language))
    results = [{"log_probability": one.log_probability, "tokens": one.tokens, "perplexity": one.perplexity} for one in found]
    return as_json({"model": asked.model, "results": results})


def several(given: str | list[str]) -> list[str]:
    """At least one text."""
    if not given and not isinstance(given, str):
        raise Unreadable("inputs: give at least one text.", param="inputs")
    return [given] if isinstance(given, str) else given
