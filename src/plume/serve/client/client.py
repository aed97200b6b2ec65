"""Client: every endpoint of a server a method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from plume.serve.client import calls
from plume.serve.client.calls import Floats
from plume.serve.client.transport import BlockingConnection

Texts = str | Sequence[str]


class Client(BlockingConnection):
    """A running server: `Client("http://host:8000", key="…").embed(["a text"], model="bert")`.

    What is refused because the server is full or still loading, and what never arrived, is sent again up to `retries` times; everything else
    that is refused is a `PlumeError` with the server's words. Lists may be longer than the server takes at once.
    """

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
        return (piece for line in self._lines(call) if (piece := calls.streamed(line)) is not None)

    def models(self) -> list[dict[str, Any]]:
        """All that is served, and what each can do."""
        return self._ask(calls.models())

    def health(self) -> dict[str, Any]:
        """That the server is alive, its version and its limits."""
        return self._ask(calls.health())
