"""Server-sent events: an answer in pieces, as they are made. What goes wrong meanwhile is one of them, the last."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from typing import Any

import orjson
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from plume.core.errors import PlumeError
from plume.serve.engine.engine import ServingEngine
from plume.serve.errors import Broken
from plume.serve.http.answers import error_body
from plume.serve.http.logs import LOG
from plume.serve.operations._operation import Operation

DONE = b"data: [DONE]\n\n"
_EVENT = {  # what is said of a stream is said of each of its events
    "type": "object",
    "properties": {"data": {"type": "string", "description": "JSON; of the last [DONE]."}},
    "required": ["data"],
    "description": "Events, if stream was asked for.",
}
DESCRIBED: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": _EVENT}}}}


class EventStream(StreamingResponse):
    """The gate watches whether the client is there: it cancels what stands here, which lets go of the place in the batch at once."""

    def __init__(self, pieces: AsyncGenerator[bytes, None]) -> None:
        super().__init__(pieces, media_type="text/event-stream", headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._pieces):
            await self.stream_response(send)


async def streamed(
    engine: ServingEngine, operation: Operation[Any, Any, Any], model: str, asked: Any, written: Callable[[Any], Iterable[Any]]
) -> EventStream:
    """`written` makes JSON of each piece, and of the answer behind them. Until the first piece is there, errors are those of HTTP."""
    stream = engine.stream(operation, model, asked)
    try:
        first = await anext(stream)
    except BaseException:
        await stream.aclose()
        raise
    return EventStream(_events(first, stream, written))


async def _events(first: Any, stream: AsyncGenerator[Any, None], written: Callable[[Any], Iterable[Any]]) -> AsyncGenerator[bytes, None]:
    async with aclosing(stream):
        try:
            async for piece in _behind(first, stream):
                for one in written(piece):
                    yield event(one)
            yield DONE
        except PlumeError as error:
            yield event(error_body(error))
        except Exception as error:
            LOG.error("failed", exc_info=error)
            yield event(error_body(Broken("The server failed at this request; its log says how.")))


async def _behind(first: Any, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    yield first
    async for piece in stream:
        yield piece


def event(content: Any) -> bytes:
    """One."""
    return b"data: " + orjson.dumps(content) + b"\n\n"
