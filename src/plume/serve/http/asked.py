"""What endpoints ask of a request: the engine, a body that is read quickly, texts within the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from plume.serve.engine.engine import ServingEngine
from plume.serve.errors import BadRequest, NotReady, TooLarge, UnknownModel, Unreadable
from plume.serve.http.answers import unreadable
from plume.serve.operations._operation import Operation
from plume.serve.settings import ServeSettings

Body = TypeVar("Body", bound=BaseModel)
_LARGE = 65_536  # bytes that take longer to read than handing them to a thread does


@dataclass(slots=True)
class Note:
    """What the log says of a request, told by its endpoint."""

    model: str | None = None
    tokens: int | None = None
    texts: Sequence[Any] | None = None  # logged only if that was asked for
    key: str | None = None
    more: dict[str, Any] = field(default_factory=dict)


def engine_of(request: Request) -> ServingEngine:
    """The one engine of the application."""
    engine: ServingEngine = request.app.state.engine
    return engine


def note_of(request: Request) -> Note:
    """Where an endpoint says what it was asked."""
    note: Note = request.scope["plume.note"]
    return note


async def read_body(request: Request, kind: type[Body]) -> Body:
    """The body as that record; off the event loop if it is large. Quicker than FastAPI's way through Python objects."""
    body = await request.body()
    try:
        if len(body) < _LARGE:
            return kind.model_validate_json(body)
        return await asyncio.to_thread(kind.model_validate_json, body)
    except ValidationError as error:
        raise unreadable(error.errors(include_url=False, include_input=False)) from None


def taken(request: Request, model: str, texts: Sequence[Any], param: str) -> ServingEngine:
    """The engine, for a request whose model and texts are noted for the log, and within the limits."""
    engine, note = engine_of(request), note_of(request)
    note.model, note.texts = model, texts
    check_texts(engine.settings, texts, param)
    return engine


def model_for(engine: ServingEngine, said: str | None, operation: Operation[Any, Any, Any]) -> str:
    """The model that was named; or the only one that can do it, for clients that name none."""
    if said is not None:
        return said
    if not engine.ready:
        raise NotReady("Models are being loaded.", retry_after=1)
    able = [name for name in engine.shelf.served if operation.name in engine.abilities.get(name, ())]
    if len(able) != 1:
        raise Unreadable(f"model: say which: {', '.join(able)}." if able else "model: none that is served can do that.", param="model")
    return able[0]


@contextmanager
def blamed(param: str) -> Iterator[None]:
    """A second model is named in a field of its own: what is wrong with that model is said of the field."""
    try:
        yield
    except (UnknownModel, BadRequest) as error:
        error.param = param
        raise


def check_texts(settings: ServeSettings, texts: Sequence[Any], param: str = "input") -> None:
    """Refuse a list that is too long, or a text that is: of characters or tokens."""
    if len(texts) > settings.batch_texts:
        raise TooLarge(f"{len(texts):,} texts in one request; at most {settings.batch_texts:,} are taken: send several.", param=param)
    for text in _strings(texts):
        if len(text) > settings.text_characters:
            raise TooLarge(f"A text of {len(text):,} characters; at most {settings.text_characters:,} are taken.", param=param)


def _strings(texts: Iterable[Any]) -> Iterable[Sequence[Any]]:
    """All that is text, however deep in what a task reads."""
    for one in texts:
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            yield from _strings(one.values())
        elif isinstance(one, list):
            if one and isinstance(one[0], int):
                yield one
            else:
                yield from _strings(one)
