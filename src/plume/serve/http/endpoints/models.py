"""Which models there are, as OpenAI lists them, and what each can do."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.engine.engine import ServingEngine
from plume.serve.http.answers import as_json
from plume.serve.http.asked import engine_of
from plume.serve.models.about import IndexAbout, ModelAbout, TaskAbout

ROUTER = APIRouter(tags=["models"])


class ModelAnswer(BaseModel):
    """One model, with what plume knows of it beside OpenAI's fields."""

    id: str
    object: str = "model"
    created: int
    owned_by: str = "plume"
    kind: str
    operations: list[str]
    loaded: bool
    runtime: str | None = None
    family: str | None = Field(None, description="The recipe: bert, gpt2, t5 …")
    width: int | None = Field(None, description="Of its vectors.")
    languages: list[str] = Field([], description="That it tells apart.")
    tasks: list[TaskAbout] = Field([], description="What it was tuned for.")
    views: list[str] = Field([], description="Of /view.")
    index: IndexAbout | None = Field(None, description="Of an index: its size and fields.")


class ModelsAnswer(BaseModel):
    """All of them."""

    object: str = "list"
    data: list[ModelAnswer]


@ROUTER.get("/v1/models", response_model=ModelsAnswer)
async def models(request: Request) -> Response:
    """Every model and index that is served."""
    engine = engine_of(request)
    return as_json({"object": "list", "data": [_model(engine, name) for name in engine.shelf.served]})


@ROUTER.get("/v1/models/{model}", response_model=ModelAnswer)
async def model(model: str, request: Request) -> Response:
    """One of them."""
    return as_json(_model(engine_of(request), model))


def _model(engine: ServingEngine, name: str) -> dict[str, Any]:
    served = engine.shelf.about(name)
    return {
        "id": name, "object": "model", "created": served.created, "owned_by": "plume", "kind": served.kind.value,
        "operations": engine.abilities.get(name, []), "loaded": name in engine.shelf.loaded,
        "runtime": engine.runtimes.get(name),
    } | engine.about.get(name, ModelAbout()).as_json()  # fmt: skip
