"""The application: endpoints behind the gate, with one engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from plume._version import __version__
from plume.core.errors import PlumeError
from plume.serve.engine.engine import ServingEngine
from plume.serve.errors import BadRequest, NoEndpoint, ServeError, WrongMethod
from plume.serve.http.answers import ErrorAnswer, error_answer, unreadable
from plume.serve.http.endpoints import quick, routers
from plume.serve.http.gate import Gate
from plume.serve.http.keys import Keys
from plume.serve.models.served import Served
from plume.serve.old_wire.service import BertService
from plume.serve.old_wire.starting import OldWireStart
from plume.serve.settings import ServeSettings

_ERRORS: dict[int | str, dict[str, Any]] = {
    number: {"model": ErrorAnswer, "description": text}
    for number, text in {
        400: "This model cannot do it", 401: "No API key, or an unknown one", 404: "No such model", 413: "Too large",
        422: "A field cannot be read", 429: "The queue is full, or the key's rate used up: see Retry-After",
        500: "A mistake of ours", 503: "Still loading", 504: "No answer in time",
    }.items()
}  # fmt: skip


def make_app(served: Mapping[str, Served], settings: ServeSettings, *, failed: Callable[[PlumeError], None] = lambda _: None) -> FastAPI:
    """An ASGI application. `failed` is called if a model cannot be loaded at the start."""
    engine = ServingEngine(served, settings)
    old_wire = OldWireStart(BertService(engine))
    keys = None if settings.keys is None else Keys.read(settings.keys, processes=settings.workers)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        starting = asyncio.create_task(_start(engine, old_wire, failed))
        if settings.workers > 1 or settings.engine == "ray":  # others of the same port answer meanwhile
            await starting
        yield
        starting.cancel()
        await old_wire.close()
        await engine.close()

    app = FastAPI(title="plume", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, responses=_ERRORS)
    app.state.engine, app.state.old_wire = engine, old_wire
    for router in routers():
        app.include_router(router)
    app.add_exception_handler(PlumeError, _plume_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(Gate, settings=settings, keys=keys, meters=engine.meters, quick=quick())
    if settings.cors:
        app.add_middleware(CORSMiddleware, allow_origins=list(settings.cors), allow_methods=["GET", "POST"], allow_headers=["*"])
    return app


async def _start(engine: ServingEngine, old_wire: OldWireStart, failed: Callable[[PlumeError], None]) -> None:
    try:
        await engine.start()
        await old_wire.open()
    except PlumeError as error:
        failed(error)


async def _plume_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, PlumeError)
    return error_answer(error)


async def _validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return error_answer(unreadable([one | {"loc": one["loc"][1:]} for one in error.errors()]))  # the first says: in the query, the path …


async def _http_error(request: Request, error: Exception) -> Response:
    """What starlette refuses by itself."""
    assert isinstance(error, HTTPException)
    known: dict[int, ServeError] = {
        404: NoEndpoint(f"Nothing answers at {request.url.path[:200]}: see /docs."),
        405: WrongMethod(f"{request.url.path[:200]} does not answer {request.method}: see /docs."),
    }
    answer = error_answer(known.get(error.status_code) or BadRequest(str(error.detail)))
    answer.headers.update(error.headers or {})
    return answer
