"""How a client talks to a server: retries, time-outs, lists in parts. The one place in plume where httpx is imported."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self, TypeVar

import httpx

from plume.core.errors import PlumeError
from plume.serve.client import calls
from plume.serve.client.calls import Call
from plume.serve.client.retrying import Retries, refusal

Answer = TypeVar("Answer")
_AT_ONCE = 4  # parts of one list that an asynchronous client sends side by side
_USUAL = {"texts": 256, "body_bytes": 1 << 20}  # where a server does not say what it takes
_TOO_LARGE = 413
_BODY = 0.9  # of a server's limit: the rest is for the other fields


class Connection:
    """What both kinds keep."""

    def __init__(self, url: str = "http://127.0.0.1:8000", *, key: str | None = None, timeout: float = 60.0, retries: int = 5) -> None:
        self.url, self.retries = url.rstrip("/"), Retries(most=retries)
        self._how: dict[str, Any] = {
            "base_url": self.url,
            "timeout": httpx.Timeout(timeout, connect=min(timeout, 10.0)),
            "headers": {} if key is None else {"Authorization": f"Bearer {key}"},
        }
        self._timeout = timeout
        self._limits: Mapping[str, int] | None = None

    def _asking(self, call: Call[Any]) -> dict[str, Any]:
        method = "GET" if call.body is None else "POST"
        return {"method": method, "url": call.path} | ({} if call.body is None else {"json": call.body})

    def _small(self, call: Call[Any]) -> bool:
        """Will a server take it at once? Where that is not known yet, one that does not says so."""
        items = () if call.split is None or call.body is None else call.body[call.split]
        return self._limits is None and len(items) <= _USUAL["texts"]

    def _must_split(self, call: Call[Any], response: httpx.Response) -> bool:
        return response.status_code == _TOO_LARGE and call.split is not None

    def _parts(self, call: Call[Answer]) -> list[Call[Answer]]:
        limits = self._limits or _USUAL
        return call.parts(limits["texts"], int(limits["body_bytes"] * _BODY))

    def _answered(self, response: httpx.Response) -> Any:
        try:
            body = response.json()
        except ValueError:
            body = None
        if response.is_success and body is not None:
            return body
        raise refusal(self.url, response.status_code, body)

    def _unanswered(self, error: httpx.TransportError) -> PlumeError:
        if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
            return PlumeError(f"{self.url} has not answered within {self._timeout:g} seconds: ask for less at once, or raise timeout.")
        return PlumeError(
            f"{self.url} cannot be reached ({error or type(error).__name__}): is the server running? plume serve DIR starts one."
        )

    def _wait(self, tried: int, found: httpx.Response | httpx.TransportError) -> float | None:
        if isinstance(found, httpx.Response):
            return None if found.is_success else self.retries.wait(tried, found.status_code, found.headers)
        slow = isinstance(found, httpx.TimeoutException) and not isinstance(found, httpx.ConnectTimeout)
        return None if slow else self.retries.wait(tried, None, {})


class BlockingConnection(Connection):
    """For `Client`."""

    def __init__(self, url: str = "http://127.0.0.1:8000", *, key: str | None = None, timeout: float = 60.0, retries: int = 5) -> None:
        super().__init__(url, key=key, timeout=timeout, retries=retries)
        self._http = httpx.Client(**self._how)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def _ask(self, call: Call[Answer]) -> Answer:
        if self._small(call) and not self._must_split(call, response := self._send(call)):
            return call.read([self._answered(response)])
        if self._limits is None:
            self._limits = self._answered(self._send(calls.health())).get("limits", _USUAL)
        return call.read([self._answered(self._send(part)) for part in self._parts(call)])

    def _send(self, call: Call[Any], *, stream: bool = False) -> httpx.Response:
        for tried in range(1, self.retries.most + 2):
            found: httpx.Response | httpx.TransportError
            try:
                found = self._http.send(self._http.build_request(**self._asking(call)), stream=stream)
            except httpx.TransportError as error:
                found = error
            wait = self._wait(tried, found)
            if wait is None:
                break
            if isinstance(found, httpx.Response):
                found.close()
            time.sleep(wait)
        if isinstance(found, httpx.Response):
            return found
        raise self._unanswered(found) from None

    def _lines(self, call: Call[Any]) -> Iterator[str]:
        """Of an answer that comes in pieces."""
        response = self._send(call, stream=True)
        try:
            if not response.is_success:
                response.read()
                self._answered(response)
            yield from response.iter_lines()
        except httpx.TransportError as error:
            raise self._unanswered(error) from None
        finally:
            response.close()


class AsyncConnection(Connection):
    """For `AsyncClient`."""

    def __init__(self, url: str = "http://127.0.0.1:8000", *, key: str | None = None, timeout: float = 60.0, retries: int = 5) -> None:
        super().__init__(url, key=key, timeout=timeout, retries=retries)
        self._http = httpx.AsyncClient(**self._how)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def _ask(self, call: Call[Answer]) -> Answer:
        if self._small(call) and not self._must_split(call, response := await self._send(call)):
            return call.read([self._answered(response)])
        if self._limits is None:
            self._limits = self._answered(await self._send(calls.health())).get("limits", _USUAL)
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(part: Call[Answer]) -> Any:
            async with room:
                return self._answered(await self._send(part))

        return call.read(list(await asyncio.gather(*map(one, self._parts(call)))))

    async def _send(self, call: Call[Any], *, stream: bool = False) -> httpx.Response:
        for tried in range(1, self.retries.most + 2):
            found: httpx.Response | httpx.TransportError
            try:
                found = await self._http.send(self._http.build_request(**self._asking(call)), stream=stream)
            except httpx.TransportError as error:
                found = error
            wait = self._wait(tried, found)
            if wait is None:
                break
            if isinstance(found, httpx.Response):
                await found.aclose()
            await asyncio.sleep(wait)
        if isinstance(found, httpx.Response):
            return found
        raise self._unanswered(found) from None

    async def _lines(self, call: Call[Any]) -> AsyncIterator[str]:
        """Of an answer that comes in pieces."""
        response = await self._send(call, stream=True)
        try:
            if not response.is_success:
                await response.aread()
                self._answered(response)
            async for line in response.aiter_lines():
                yield line
        except httpx.TransportError as error:
            raise self._unanswered(error) from None
        finally:
            await response.aclose()
