"""Client: every endpoint of a server a method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plume.serve.client import calls
from plume.serve.client.calls import Floats
from plume.serve.client.transport import BlockingConnection

Texts = str | Sequence[str]
Conversation = str | Sequence[Mapping[str, Any]]  # what the user says, or messages with role and content


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

    def generate(self, prompt: Texts = "", *, model: str, **options: Any) -> Any:
        """What the model writes after the prompt: a text, or a list for a list of prompts; with `samples`, so many for each.

        `options` are those of `LanguageModel.generate`, and stop, samples: source, max_tokens, temperature, top_k, top_p, beams, seed …
        """
        return self._ask(calls.generate(prompt, model, options))

    def stream(self, prompt: str = "", *, model: str, **options: Any) -> Iterator[str]:
        """The same in pieces, as they are written."""
        return self._pieces(calls.generate(prompt, model, options))

    def paraphrase(self, text: str, *, model: str, count: int = 5, **options: Any) -> list[tuple[str, float]]:
        """Other words for a text, each with its cosine to it, by a model that was trained to write them (SimBERT)."""
        return self._ask(calls.paraphrase(text, model, count, options))

    def chat(self, messages: Conversation, *, model: str, **options: Any) -> str:
        """What the assistant says next, by a model that was tuned on dialogue; `options` are OpenAI's: max_tokens, temperature, seed, stop …"""
        return self._ask(calls.chat(messages, model, options))

    def stream_chat(self, messages: Conversation, *, model: str, **options: Any) -> Iterator[str]:
        """The same in pieces, as they are written."""
        return self._pieces(calls.chat(messages, model, options))

    def _pieces(self, call: calls.Call[Any]) -> Iterator[str]:
        return (piece for line in self._lines(calls.streaming(call)) if (piece := calls.streamed(line)) is not None)

    def models(self) -> list[dict[str, Any]]:
        """All that is served, and what each can do."""
        return self._ask(calls.models())

    def health(self) -> dict[str, Any]:
        """That the server is alive, its version and its limits."""
        return self._ask(calls.health())
