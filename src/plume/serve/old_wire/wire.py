"""OldWire: requests from the one socket, answers to the other."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from plume.core.errors import PlumeError
from plume.serve.errors import ServeError
from plume.serve.old_wire.messages import CONFIG, STATUS, OldRequest, array_answer, json_answer, refusal
from plume.serve.old_wire.service import BertService, ClientGone
from plume.serve.old_wire.sockets import VERSIONS, OldWireSockets

LOG = logging.getLogger("plume.serve")
_AT_ONCE = 1024  # requests in work; further ones wait in the clients' sockets, which then block
_FIRST = b"1"
_LISTENS = 5.0  # seconds until a client that asks must listen
_LARGE = 65_536  # bytes that are read in a thread
_ROOM = 8  # times the limit of a body: what is larger is not even read, so it cannot be refused with a reason


class OldWire:
    """Belongs to the engine's event loop."""

    def __init__(self, service: BertService) -> None:
        self.service = service
        own, bert = service.engine.settings, service.settings
        self.sockets = OldWireSockets(own.host, bert.port_in, bert.port_out, message_bytes=_ROOM * own.body_bytes)
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._working: set[asyncio.Task[None]] = set()
        self._watching = asyncio.create_task(self.sockets.watch())
        self._receiving = asyncio.create_task(self._receive())

    @classmethod
    async def open(cls, service: BertService) -> OldWire:
        """When the models are ready. What cannot work with these options is said now."""
        await service.check()
        return cls(service)

    async def close(self) -> None:
        """Answer what was received, and end."""
        self._receiving.cancel()
        if self._working:
            await asyncio.wait(self._working)
        self._watching.cancel()
        await asyncio.gather(self._receiving, self._watching, return_exceptions=True)
        await asyncio.to_thread(self.sockets.close)

    async def _receive(self) -> None:
        while True:
            await self._room.acquire()
            task = asyncio.create_task(self._handle(await self.sockets.request()))
            self._working.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        self._room.release()

    async def _handle(self, frames: list[bytes]) -> None:
        begun = time.perf_counter()
        try:
            request = OldRequest.read(frames)
        except PlumeError as error:
            LOG.warning("unreadable", extra={"said": {"wire": "bert-as-service", "why": str(error)}})
            return
        said: dict[str, Any] = {"wire": "bert-as-service", "client": _name(request)}
        status = 200
        try:
            if not await self.sockets.listener(request.identity, first=request.number == _FIRST, seconds=_LISTENS):
                raise ClientGone
            answer = await self._answer(request, said)
        except ClientGone:
            LOG.warning("nobody listens", extra={"said": said})
            return
        except Exception as error:
            answer, status = self._refused(request, error, said)
        if not await self.sockets.answer(answer):
            LOG.warning("the client does not read its answers", extra={"said": said})
        self.service.engine.meters.requests.labels("bert-as-service", status).inc()
        LOG.info("request", extra={"said": said | {"status": status, "seconds": round(time.perf_counter() - begun, 5)}})

    async def _answer(self, request: OldRequest, said: dict[str, Any]) -> list[bytes]:
        if request.payload in (CONFIG, STATUS):
            self.service.statistics.system += 1
            told = self.service.config() if request.payload == CONFIG else self.service.status()
            ports = {"port": self.sockets.port_in, "port_out": self.sockets.port_out}
            return json_answer(request, told | VERSIONS | ports | {"client": _name(request)})
        limits = self.service.engine.settings
        most = {"most_bytes": limits.body_bytes, "most_characters": limits.text_characters}
        large = len(request.payload) > _LARGE
        texts = await asyncio.to_thread(request.texts, **most) if large else request.texts(**most)
        said["count"] = len(texts)
        found = await self.service.encode(
            texts, identity=_name(request), wanted=lambda: self.sockets.listens(request.identity), patient=True
        )  # fmt: skip
        return array_answer(request, found.vectors, found.tokens)

    def _refused(self, request: OldRequest, error: Exception, said: dict[str, Any]) -> tuple[list[bytes], int]:
        self.service.statistics.refused += 1
        if not isinstance(error, PlumeError):
            LOG.error("failed", exc_info=error, extra={"said": said})
            return refusal(request, "the server failed at it; its log says how."), 500
        LOG.warning("refused", extra={"said": said | {"why": str(error)}})
        return refusal(request, str(error)), error.status if isinstance(error, ServeError) else 400


def _name(request: OldRequest) -> str:
    return request.identity.decode("ascii", "backslashreplace")
