"""The workbench at /, and its files."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from plume.serve.errors import NoEndpoint
from plume.serve.page import FILES

ROUTER = APIRouter(include_in_schema=False)


@ROUTER.get("/")
@ROUTER.get("/page/{file}")
async def page(request: Request) -> Response:
    """A file of the page; nothing if the browser has it."""
    found = FILES.get(request.scope["path"])
    if found is None:
        raise NoEndpoint("The page has no such file.")
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=found.headers)
    return Response(found.content, media_type=found.type, headers=found.headers)
