"""Pages that look inside a model."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictStr
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from plume.serve.http.answers import described
from plume.serve.http.asked import blamed, read_body, taken
from plume.serve.operations.view import OPERATION, ViewAsked
from plume.view.attending import joined_pages

ROUTER = APIRouter(tags=["views"])
_PAGE: dict[int | str, dict[str, Any]] = {200: {"content": {"text/html": {"schema": {"type": "string"}}}}}  # errors are JSON


class ViewRequest(BaseModel):
    """A text, and what is to be seen of it."""

    text: StrictStr = Field(description="The question, of models that answer questions.")
    view: StrictStr = Field("head", description="head, model, neuron, switch, predictions or gradients: /v1/models says which a model has.")
    pair: StrictStr | None = Field(None, description="A second text, read with the first; the context of a question.")
    target: StrictStr | None = Field(None, description="Encoder–decoders: what the decoder writes.")
    against: StrictStr | None = Field(None, description="Another model, shown beside the first: head, model, neuron and switch.")
    task: StrictStr | None = Field(None, description="Of a model that was tuned for several.")
    language: StrictStr | None = Field(None, description="Multilingual models (xlm): that of the text.")
    page_language: Literal["en", "zh"] = Field("en", description="That of the page.")


@ROUTER.post("/view/{model}", openapi_extra=described(ViewRequest), responses=_PAGE)
async def view(model: str, request: Request) -> Response:
    """One self-contained page, as `plume view` writes it."""
    asked = await read_body(request, ViewRequest)
    texts = [one for one in (asked.text, asked.pair, asked.target) if one is not None]
    engine = taken(request, model, texts, "text")
    view = ViewAsked(
        view=asked.view, text=asked.text, pair=asked.pair or None, target=asked.target or None, task=asked.task,
        language=asked.language, page=asked.page_language, beside=int(asked.against is not None),
    )  # fmt: skip
    if asked.against is not None:  # known before anything is computed for the first
        with blamed("against"):
            engine.shelf.about(asked.against)
    pages = [await engine.ask(OPERATION, model, view)]
    if asked.against is not None:
        with blamed("against"):
            pages.append(await engine.ask(OPERATION, asked.against, view))
    html = await asyncio.to_thread(lambda: joined_pages(pages).html())
    return HTMLResponse(html, headers={"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox allow-scripts"})
