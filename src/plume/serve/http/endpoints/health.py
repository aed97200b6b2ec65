"""Is it alive, is it ready, how is it doing, and what can be asked."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from plume._version import __version__
from plume.serve.errors import NotReady
from plume.serve.http.answers import as_json
from plume.serve.http.asked import engine_of
from plume.serve.http.docs import PAGE
from plume.serve.meters import CONTENT_TYPE

ROUTER = APIRouter(tags=["server"])


class Limits(BaseModel):
    """Of one request: clients split what is larger."""

    texts: int
    body_bytes: int


class Health(BaseModel):
    """The process answers."""

    status: str = "ok"
    version: str = __version__
    limits: Limits


class Readiness(BaseModel):
    """All models were loaded and warmed up."""

    status: str = "ready"
    models: list[str]
    loaded: list[str]


@ROUTER.get("/health", response_model=Health)
async def health(request: Request) -> Response:
    """The process is alive."""
    settings = engine_of(request).settings
    return as_json({"status": "ok", "version": __version__, "limits": {"texts": settings.batch_texts, "body_bytes": settings.body_bytes}})


@ROUTER.get("/ready", response_model=Readiness)
async def ready(request: Request) -> Response:
    """Every model was loaded and warmed up; 503 before that."""
    engine = engine_of(request)
    if not engine.ready:
        raise NotReady("Models are being loaded.", retry_after=1)
    return as_json({"status": "ready", "models": list(engine.shelf.served), "loaded": engine.shelf.loaded})


@ROUTER.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Prometheus' figures: queues, waiting, batches, tokens, inference seconds, by model and operation."""
    return Response(engine_of(request).meters.page(), media_type=CONTENT_TYPE)


@ROUTER.get("/docs", include_in_schema=False)
async def docs() -> Response:
    """All endpoints, on a page that needs no other host."""
    return HTMLResponse(PAGE)
