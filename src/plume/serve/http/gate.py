"""Gate: what every request passes. Keys and rates, the size of its body, its time, whether the client is still there, its line in the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plume.core.errors import PlumeError
from plume.serve.errors import Broken, TimedOut, TooLarge
from plume.serve.http.answers import error_answer
from plume.serve.http.asked import Note
from plume.serve.http.endpoints import Endpoint
from plume.serve.http.keys import Keys
from plume.serve.http.logs import LOG, log_request
from plume.serve.meters import Meters
from plume.serve.settings import ServeSettings

_HUNG_UP = 499  # nginx' number for a client that closed the connection


class Gate:
    """Plain ASGI, because it stands before the quickest endpoint too."""

    def __init__(
        self, app: ASGIApp, *, settings: ServeSettings, keys: Keys | None, meters: Meters, quick: Mapping[tuple[str, str], Endpoint]
    ) -> None:
        self.app, self.settings, self.keys, self.meters, self.quick = app, settings, keys, meters, quick

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        passage = _Passage(self, scope, receive, send)
        status = await passage.go()
        seconds = time.perf_counter() - begun
        endpoint = getattr(scope.get("route"), "path", None) or passage.endpoint
        self.meters.requests.labels(endpoint, status).inc()
        self.meters.seconds.labels(endpoint).observe(seconds)
        log_request(scope, status, seconds, passage.note, texts=self.settings.log_texts)


class _Passage:
    """One request on its way."""

    def __init__(self, gate: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        self.gate, self.scope, self.receive, self._send = gate, scope, receive, send
        self.note = scope["plume.note"] = Note()
        self.status = 0  # none yet
        self.hung_up = False
        self.body: bytes | None = b""
        self.quick = gate.quick.get((scope["method"], scope["path"]))
        self.endpoint = "other" if self.quick is None else scope["path"]
        self._gone = asyncio.Event()

    async def go(self) -> int:
        """The status that was answered."""
        try:
            if self.gate.keys is not None:
                self.note.key = self.gate.keys.admit(self.scope)
            self.body = await self._whole_body()
        except PlumeError as error:
            await self._refuse(error)
            return self.status
        if self.hung_up:
            return _HUNG_UP
        await self._through()
        return self.status or _HUNG_UP

    async def _through(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        watcher = asyncio.create_task(self._watch(task))
        try:
            async with asyncio.timeout(self.gate.settings.timeout) as self._clock:
                if self.quick is None:
                    await self.gate.app(self.scope, self._replay, self.send)
                else:
                    answer = await self.quick(Request(self.scope, self._replay))
                    await answer(self.scope, self._replay, self.send)
        except asyncio.CancelledError:
            if not self.hung_up:
                raise
            task.uncancel()
        except PlumeError as error:
            await self._refuse(error)
        except TimeoutError:
            await self._refuse(TimedOut(f"No answer within {self.gate.settings.timeout:g} seconds.", retry_after=1))
        except Exception as error:
            LOG.error("failed", exc_info=error, extra={"said": {"path": self.scope["path"]}})
            await self._refuse(Broken("The server failed at this request; its log says how."))
        finally:
            watcher.cancel()

    async def send(self, message: Message) -> None:
        """From here on the client gets its answer, however long that takes to stream."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._clock.reschedule(None)
        await self._send(message)

    async def _refuse(self, error: PlumeError) -> None:
        if not self.status and not self.hung_up:
            answer = error_answer(error)
            self.status = answer.status_code
            await answer(self.scope, self.receive, self._send)

    async def _whole_body(self) -> bytes:
        most = self.gate.settings.body_bytes
        said = next((value for name, value in self.scope["headers"] if name == b"content-length"), b"0")
        if said.isdigit() and int(said) > most:
            raise _too_large(most)
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                self.hung_up = True
                return b""
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_large(most)
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _replay(self) -> Message:
        body, self.body = self.body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _watch(self, task: asyncio.Task[Any]) -> None:
        """A client that hangs up cancels what is done for it."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self.hung_up = True
        self._gone.set()
        task.cancel()


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"The body is larger than {most:,} bytes.")
