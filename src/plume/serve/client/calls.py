"""What each method of the client asks, and how it reads the answer. Nothing here talks to anybody: both clients share it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError

Answer = TypeVar("Answer")
Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Call(Generic[Answer]):
    """One request; or several, where `split` names the field with a list that may be longer than the server takes at once."""

    path: str
    body: Mapping[str, Any] | None = None  # None: GET
    read: Callable[[list[Any]], Answer]  # from the answers of all parts, in order
    split: str | None = None

    def parts(self, most: int, size: int) -> list[Call[Answer]]:
        """At most so many items each, of at most so many bytes together, as far as that can be."""
        if self.split is None or self.body is None:
            return [self]
        found = [replace(self, body={**self.body, self.split: part}) for part in _parts(self.body[self.split], most, size)]
        return found or [self]


def _parts(items: Sequence[Any], most: int, size: int) -> Iterator[list[Any]]:
    """
    >>> list(_parts(["a", "b", "c"], 2, 60)), list(_parts(["a" * 9, "b" * 9], 2, 20))
    ([['a', 'b'], ['c']], [['aaaaaaaaa'], ['bbbbbbbbb']])
    """
    part: list[Any] = []
    held = 0
    for item in items:
        long = len(json.dumps(item, ensure_ascii=False).encode("utf-8", "surrogatepass")) + 2
        if part and (len(part) == most or held + long > size):
            yield part
            part, held = [], 0
        part.append(item)
        held += long
    if part:
        yield part


def embed(texts: str | Sequence[str], model: str, dimensions: int | None, language: str | None) -> Call[Floats]:
    """[N, D] float32."""
    body = {"model": model, "input": _listed(texts), "encoding_format": "base64", "dimensions": dimensions, "language": language}
    return Call(path="/v1/embeddings", body=_said(body), read=_vectors, split="input")


def _vectors(answers: list[Any]) -> Floats:
    rows = [np.frombuffer(b64decode(one["embedding"]), "<f4") for answer in answers for one in answer["data"]]
    return np.stack(rows).astype(np.float32) if rows else np.zeros((0, 0), np.float32)


def predict(items: Any, model: str, options: Mapping[str, Any]) -> Call[list[dict[str, Any]]]:
    """One answer for each item."""
    listed = [items] if isinstance(items, str | dict) else [list(one) if isinstance(one, tuple) else one for one in items]
    return Call(path=f"/predict/{_name(model)}", body=_said({"inputs": listed, **options}), read=_all("predictions"), split="inputs")


def fill(texts: str | Sequence[str], model: str, top: int, language: str | None) -> Call[list[list[list[dict[str, Any]]]]]:
    """For each text, for each blank, the likeliest guesses."""
    body = {"model": model, "inputs": _listed(texts), "top": top, "language": language}
    return Call(path="/fill", body=_said(body), read=_all("results"), split="inputs")


def score(texts: str | Sequence[str], model: str, source: str | Sequence[str] | None, language: str | None) -> Call[list[dict[str, Any]]]:
    """Of each text its log-probability, the number of its tokens, and its perplexity."""
    body = {"model": model, "inputs": _listed(texts), "source": source, "language": language}
    return Call(path="/score", body=_said(body), read=_all("results"), split=None if isinstance(source, list | tuple) else "inputs")


def hidden(texts: str | Sequence[str], model: str, layers: Sequence[int], language: str | None) -> Call[list[dict[str, Any]]]:
    """Of each text its tokens, and {layer: [T, D]}."""
    body = {"model": model, "inputs": _listed(texts), "layers": list(layers), "encoding_format": "base64", "language": language}
    return Call(path="/hidden", body=_said(body), read=_states, split="inputs")


def _states(answers: list[Any]) -> list[dict[str, Any]]:
    def arrays(one: dict[str, Any]) -> dict[int, Floats]:
        return {
            layer["layer"]: np.frombuffer(b64decode(layer["states"]), "<f4").reshape(layer["shape"]).astype(np.float32)
            for layer in one["layers"]
        }

    return [{"tokens": one["tokens"], "layers": arrays(one)} for answer in answers for one in answer["results"]]


def classify(texts: str | Sequence[Any], model: str, task: str | None) -> Call[list[list[dict[str, Any]]]]:
    """For each text all labels, the likeliest first."""
    body = {"model": model, "input": _listed(texts), "task": task}
    return Call(path="/classify", body=_said(body), read=_all("data"), split="input")


def rerank(query: str, documents: Sequence[str], model: str, top: int | None) -> Call[list[dict[str, Any]]]:
    """The best first: index, relevance_score, document."""

    def best(answers: list[Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        before = 0
        for answer in answers:
            found += [one | {"index": one["index"] + before} for one in answer["results"]]
            before += len(answer["results"])
        found.sort(key=lambda one: -one["relevance_score"])
        return [one | {"document": documents[one["index"]]} for one in found[:top]]

    return Call(path="/rerank", body={"model": model, "query": query, "documents": list(documents)}, read=best, split="documents")


def search(query: str | Sequence[float], index: str, options: Mapping[str, Any]) -> Call[list[dict[str, Any]]]:
    """Hits, the best first."""
    asked = {"query": query} if isinstance(query, str) else {"vector": [float(one) for one in query]}
    return Call(path=f"/search/{_name(index)}", body=_said({**asked, **options}), read=_all("hits"))


def generate(prompt: str | Sequence[str], model: str, options: Mapping[str, Any]) -> Call[Any]:
    """A text for one prompt, a list for several; with `samples`, a list of so many for each."""
    body = {"model": model, "prompt": prompt if isinstance(prompt, str) else list(prompt), **options}

    def texts(answers: list[Any]) -> Any:
        found = [[str(one["text"]) for one in own] for own in answers[0]["results"]]
        each: list[Any] = found if "samples" in options else [own[0] for own in found]
        return each[0] if isinstance(prompt, str) else each

    return Call(path="/generate", body=_said(body), read=texts)


def paraphrase(text: str, model: str, count: int, options: Mapping[str, Any]) -> Call[list[tuple[str, float]]]:
    """Other words for it, the nearest first."""
    body = {"model": model, "paraphrase": text, "samples": count, **options}
    return Call(
        path="/generate", body=_said(body), read=lambda answers: [(one["text"], one["similarity"]) for one in answers[0]["results"][0]]
    )


def chat(messages: str | Sequence[Mapping[str, Any]], model: str, options: Mapping[str, Any]) -> Call[str]:
    """What the assistant says next."""
    said = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
    body = {"model": model, "messages": said, **options}
    return Call(path="/v1/chat/completions", body=_said(body), read=lambda answers: str(answers[0]["choices"][0]["message"]["content"]))


def streaming(call: Call[Any]) -> Call[Any]:
    """The same in pieces, which are of one text."""
    body = dict(call.body or {})
    if not isinstance(body.get("prompt", ""), str) or any(body.get(name, 1) != 1 for name in ("samples", "n")):
        raise PlumeError("A stream is one text: give one prompt, and leave out samples and n.")
    return replace(call, body={**body, "stream": True})


def models() -> Call[list[dict[str, Any]]]:
    """All that is served."""
    return Call(path="/v1/models", read=_all("data"))


def health() -> Call[dict[str, Any]]:
    """That the server is alive, its version, and its limits."""
    return Call(path="/health", read=lambda answers: dict(answers[0]))


def streamed(line: str) -> str | None:
    """The text in a line of server-sent events; None for other lines.

    >>> streamed('data: {"text": " cat"}'), streamed('data: {"choices": [{"delta": {"content": "Hi"}}]}'), streamed("data: [DONE]")
    (' cat', 'Hi', None)
    """
    data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
    if not data or data == "[DONE]":
        return None
    told = json.loads(data)
    if "error" in told:
        raise PlumeError(str(told["error"].get("message", told["error"])))
    choices = told.get("choices")
    return (choices[0]["delta"].get("content") if choices else told.get("text")) or None


def _all(field: str) -> Callable[[list[Any]], Any]:
    """The lists of all parts, one behind the other."""
    return lambda answers: [one for answer in answers for one in answer[field]]


def _said(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _listed(texts: str | Sequence[Any]) -> list[Any]:
    listed = [texts] if isinstance(texts, str) else list(texts)
    if not listed:
        raise PlumeError("There is no text to send.")
    return listed


def _name(model: str) -> str:
    if not model or "/" in model:
        raise PlumeError(f"'{model}' is no name of a model: client.models() lists those that are served.")
    return model
