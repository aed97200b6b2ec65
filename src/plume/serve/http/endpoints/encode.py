"""bert-as-service over HTTP: POST /encode and its two pages of status."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.http.answers import as_json, described
from plume.serve.http.asked import engine_of, read_body, taken
from plume.serve.old_wire.messages import checked_texts
from plume.serve.old_wire.service import BertService
from plume.serve.old_wire.statistics import SPOKEN

ROUTER = APIRouter(tags=["bert-as-service"])
_WHO = "http"


class EncodeRequest(BaseModel):
    """What clients of bert-as-service post."""

    id: int | StrictStr | None = Field(None, description="Comes back with the answer.")
    texts: list[StrictStr | list[StrictStr]] = Field(min_length=1, description="Texts, pairs written 'a ||| b', or lists of tokens.")
    is_tokenized: bool = Field(False, description="Not needed: lists of tokens are seen as such.")


class EncodeAnswer(BaseModel):
    """Its manual says `results`, its code `result`: both are there."""

    id: int | str | None
    results: list[Any]
    result: list[Any]
    status: int = 200


@ROUTER.post("/encode", response_model=EncodeAnswer, openapi_extra=described(EncodeRequest))
async def encode(request: Request) -> Response:
    """Vectors of texts, pooled as --pooling-strategy and --pooling-layer say."""
    asked = await read_body(request, EncodeRequest)
    service = _service(request)
    engine = taken(request, service.model, asked.texts, "texts")
    found = await service.encode(checked_texts(asked.texts, engine.settings.text_characters), identity=_WHO)
    told = {"id": asked.id, "results": found.vectors, "result": found.vectors, "status": 200}
    return as_json(told | ({"tokens": found.tokens} if found.tokens else {}))


@ROUTER.get("/status/server", response_model=dict[str, Any])
async def server_status(request: Request) -> Response:
    """Options, and what was counted since the start."""
    return as_json(_service(request).status())


@ROUTER.get("/status/client", response_model=dict[str, Any])
async def client_status(request: Request) -> Response:
    """Of the client through which HTTP reached the server of bert-as-service; here none stands between."""
    service = _service(request)
    return as_json(
        {
            "identity": _WHO, "num_request": service.statistics.asked[_WHO], "num_pending_request": 0, "pending_request": [],
            "output_fmt": "list", "port": service.settings.port_in, "port_out": service.settings.port_out,
            "server_ip": engine_of(request).settings.host, "client_version": SPOKEN, "timeout": -1,
        }
    )  # fmt: skip


def _service(request: Request) -> BertService:
    service: BertService = request.app.state.old_wire.service
    return service
