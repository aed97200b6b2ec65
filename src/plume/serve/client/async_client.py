"""AsyncClient: the same for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from plume.serve.client import calls
from plume.serve.client.calls import Floats
from plume.serve.client.transport import AsyncConnection

Texts = str | Sequence[str]
Conversation = str | Sequence[Mapping[str, Any]]  # what the user says, or messages with role and content


class AsyncClient(AsyncConnection):
    """The same for asyncio: `async with AsyncClient(url) as client: vectors = await client.embed(texts, model="bert")`."""

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

    async def generate(self, prompt: Texts = "", *, model: str, **options: Any) -> Any:
        """What the model writes after the prompt."""
        return await self._ask(calls.generate(prompt, model, options))

    def stream(self, prompt: str = "", *, model: str, **options: Any) -> AsyncIterator[str]:
        """The same in pieces, as they are written."""
        return self._pieces(calls.generate(prompt, model, options))

    async def paraphrase(self, text: str, *, model: str, count: int = 5, **options: Any) -> list[tuple[str, float]]:
        """Other words for a text, each with its cosine to it."""
        return await self._ask(calls.paraphrase(text, model, count, options))

    async def chat(self, messages: Conversation, *, model: str, **options: Any) -> str:
        """What the assistant says next."""
        return await self._ask(calls.chat(messages, model, options))

    def stream_chat(self, messages: Conversation, *, model: str, **options: Any) -> AsyncIterator[str]:
        """The same in pieces, as they are written."""
        return self._pieces(calls.chat(messages, model, options))

    async def _pieces(self, call: calls.Call[Any]) -> AsyncIterator[str]:
        async for line in self._lines(calls.streaming(call)):
            if (piece := calls.streamed(line)) is not None:
                yield piece

    async def models(self) -> list[dict[str, Any]]:
        """All that is served, and what each can do."""
        return await self._ask(calls.models())

    async def health(self) -> dict[str, Any]:
        """That the server is alive, its version and its limits."""
        return await self._ask(calls.health())
