"""Client and AsyncClient: every endpoint a method. The one place in plume where httpx is imported."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import httpx

from plume.core.errors import PlumeError
from plume.serve.client import calls
from plume.serve.client.calls import Call, Floats
from plume.serve.client.retrying import Retries, refusal

Answer = TypeVar("Answer")
Texts = str | Sequence[str]
_AT_ONCE = 4  # parts of one list that an AsyncClient sends side by side
_USUAL = {"texts": 256, "body_bytes": 1 << 20}  # where a server does not say what it takes
_TOO_LARGE = 413
_BODY = 0.9  # of a server's limit: the rest is for the other fields


class _Connection:
    """What both clients keep."""

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


class Client(_Connection):
    """A running server: `Client("http://host:8000", key="…").embed(["a text"], model="bert")`.

    What is refused because the server is full or still loading, and what never arrived, is sent again up to `retries` times; everything else
    that is refused is a `PlumeError` with the server's words. Lists may be longer than the server takes at once.
    """

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

    # Endpoints

    def embed(self, texts: Texts, *, model: str, dimensions: int | None = None, language: str | None = None) -> Floats:
        """[N, D] one vector a text."""
        return self._ask(calls.embed(texts, model, dimensions, language))

    def predict(self, items: Any, *, model: str, **options: Any) -> list[dict[str, Any]]:
        """One answer for each item; `options`: task, language, and for labels that nobody trained: labels, template, multi_label."""
        return self._ask(calls.predict(items, model, options))

    def fill(self, texts: Texts, *, model: str, top: int = 5, language: str | None = None) -> list[list[list[dict[str, Any]]]]:
        """For each text, for each blank (___), the likeliest guesses."""
        return self._ask(calls.fill(texts, model, top, language))

    def score(self, texts: Texts, *, model: str, source: Texts | None = None, language: str | None = None) -> list[dict[str, Any]]:
        """Log-probability, tokens and perplexity of each text."""
        return self._ask(calls.score(texts, model, source, language))

    def hidden(self, texts: Texts, *, model: str, layers: Sequence[int] = (-1,), language: str | None = None) -> list[dict[str, Any]]:
        """Of each text its tokens with their places, and {layer: [T, D]}."""
        return self._ask(calls.hidden(texts, model, layers, language))

    def classify(self, texts: str | Sequence[Any], *, model: str, task: str | None = None) -> list[list[dict[str, Any]]]:
        """For each text, or pair, all labels with their probabilities, the likeliest first."""
        return self._ask(calls.classify(texts, model, task))

    def rerank(self, query: str, documents: Sequence[str], *, model: str, top: int | None = None) -> list[dict[str, Any]]:
        """Documents in the order of their relevance: index, relevance_score, document."""
        return self._ask(calls.rerank(query, documents, model, top))

    def search(self, query: str | Sequence[float], *, index: str, **options: Any) -> list[dict[str, Any]]:
        """Hits for a text or a vector; `options`: top, where, mode, rerank, exact."""
        return self._ask(calls.search(query, index, options))

    def generate(self, prompt: str, *, model: str, **options: Any) -> str:
        """What the model writes after the prompt; `options` are those of OpenAI's completions: max_tokens, temperature, stop …"""
        return self._ask(calls.completion(prompt, model, stream=False, options=options))

    def stream(self, prompt: str, *, model: str, **options: Any) -> Iterator[str]:
        """The same in pieces, as they are written."""
        call = calls.completion(prompt, model, stream=True, options=options)
        response = self._send(call, stream=True)
        try:
            if not response.is_success:
                response.read()
                self._answered(response)
            for line in response.iter_lines():
                if (piece := calls.streamed(line)) is not None:
                    yield piece
        except httpx.TransportError as error:
            raise self._unanswered(error) from None
        finally:
            response.close()

    def models(self) -> list[dict[str, Any]]:
        """All that is served, and what each can do."""
        return self._ask(calls.models())

    def health(self) -> dict[str, Any]:
        """That the server is alive, its version and its limits."""
        return self._ask(calls.health())

    # Asking

    def _ask(self, call: Call[Answer]) -> Answer:
        if self._small(call) and not self._must_split(call, response := self._send(call)):
            return call.read([self._answered(response)])
        if self._limits is None:
            self._limits = self.health().get("limits", _USUAL)
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


class AsyncClient(_Connection):
    """The same for asyncio: `async with AsyncClient(url) as client: vectors = await client.embed(texts, model="bert")`."""

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

    # Endpoints: as `Client` has them

    async def embed(self, texts: Texts, *, model: str, dimensions: int | None = None, language: str | None = None) -> Floats:
        """[N, D] one vector a text."""
        return await self._ask(calls.embed(texts, model, dimensions, language))

    async def predict(self, items: Any, *, model: str, **options: Any) -> list[dict[str, Any]]:
        """One answer for each item."""
        return await self._ask(calls.predict(items, model, options))

    async def fill(self, texts: Texts, *, model: str, top: int = 5, language: str | None = None) -> list[list[list[dict[str, Any]]]]:
        """For each text, for each blank (___), the likeliest guesses."""
        return await self._ask(calls.fill(texts, model, top, language))

    async def score(self, texts: Texts, *, model: str, source: Texts | None = None, language: str | None = None) -> list[dict[str, Any]]:
        """Log-probability, tokens and perplexity of each text."""
        return await self._ask(calls.score(texts, model, source, language))

    async def hidden(self, texts: Texts, *, model: str, layers: Sequence[int] = (-1,), language: str | None = None) -> list[dict[str, Any]]:
        """Of each text its tokens with their places, and {layer: [T, D]}."""
        return await self._ask(calls.hidden(texts, model, layers, language))

    async def classify(self, texts: str | Sequence[Any], *, model: str, task: str | None = None) -> list[list[dict[str, Any]]]:
        """For each text, or pair, all labels with their probabilities, the likeliest first."""
        return await self._ask(calls.classify(texts, model, task))

    async def rerank(self, query: str, documents: Sequence[str], *, model: str, top: int | None = None) -> list[dict[str, Any]]:
        """Documents in the order of their relevance."""
        return await self._ask(calls.rerank(query, documents, model, top))

    async def search(self, query: str | Sequence[float], *, index: str, **options: Any) -> list[dict[str, Any]]:
        """Hits for a text or a vector."""
        return await self._ask(calls.search(query, index, options))

    async def generate(self, prompt: str, *, model: str, **options: Any) -> str:
        """What the model writes after the prompt."""
        return await self._ask(calls.completion(prompt, model, stream=False, options=options))

    async def stream(self, prompt: str, *, model: str, **options: Any) -> AsyncIterator[str]:
        """The same in pieces, as they are written."""
        call = calls.completion(prompt, model, stream=True, options=options)
        response = await self._send(call, stream=True)
        try:
            if not response.is_success:
                await response.aread()
                self._answered(response)
            async for line in response.aiter_lines():
                if (piece := calls.streamed(line)) is not None:
                    yield piece
        except httpx.TransportError as error:
            raise self._unanswered(error) from None
        finally:
            await response.aclose()

    async def models(self) -> list[dict[str, Any]]:
        """All that is served, and what each can do."""
        return await self._ask(calls.models())

    async def health(self) -> dict[str, Any]:
        """That the server is alive, its version and its limits."""
        return await self._ask(calls.health())

    # Asking

    async def _ask(self, call: Call[Answer]) -> Answer:
        if self._small(call) and not self._must_split(call, response := await self._send(call)):
            return call.read([self._answered(response)])
        if self._limits is None:
            self._limits = (await self.health()).get("limits", _USUAL)
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
