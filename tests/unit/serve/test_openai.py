"""The official client of OpenAI against a running server: the same numbers as Python's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

import plume
from plume.core import catalog

TEXTS = ["The cat finds a wooden box.", "小猫喜欢苹果。", "a"]


@pytest.fixture(scope="module")
def served(server: Callable[..., Any], directory: Callable[[str], Path], classifier: Path) -> Iterator[Any]:
    with server(directory("bert"), f"gpt={directory('gpt2')}", classifier) as running:
        yield running


@pytest.fixture(scope="module")
def client(served: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0)


def vectors(answer: Any) -> np.ndarray:
    return np.array([one.embedding for one in answer.data], np.float32)


@pytest.mark.parametrize("name", ["bert", "gpt2", "classifier"])
def test_embeddings_are_those_of_python(client: openai.OpenAI, directory: Any, classifier: Path, name: str) -> None:
    folder = classifier if name == "classifier" else directory(name)
    expected = plume.load(folder).embed(TEXTS)
    asked = "gpt" if name == "gpt2" else name
    as_base64 = client.embeddings.create(model=asked, input=TEXTS)  # what it asks for if nothing is said
    as_floats = client.embeddings.create(model=asked, input=TEXTS, encoding_format="float")
    np.testing.assert_allclose(vectors(as_base64), expected, atol=1e-6)
    np.testing.assert_array_equal(vectors(as_floats), vectors(as_base64))


def test_usage_counts_what_is_read(client: openai.OpenAI, directory: Any) -> None:
    model = plume.load(directory("bert"))
    answer = client.embeddings.create(model="bert", input=TEXTS)
    assert answer.usage.total_tokens == sum(len(one.tokens) for one in model.hidden(TEXTS))
    assert answer.model == "bert"


def test_token_ids(client: openai.OpenAI, directory: Any) -> None:
    """One list or several; with the special tokens around them or without."""
    model = plume.load(directory("bert"))
    ids = model.tokenizer.encode(TEXTS)
    expected = model.embed(TEXTS)
    np.testing.assert_allclose(vectors(client.embeddings.create(model="bert", input=ids)), expected, atol=1e-6)
    np.testing.assert_allclose(vectors(client.embeddings.create(model="bert", input=ids[0])), expected[:1], atol=1e-6)
    framed = model.abilities.frame(ids[0])
    np.testing.assert_allclose(vectors(client.embeddings.create(model="bert", input=framed)), expected[:1], atol=1e-6)


def test_dimensions(client: openai.OpenAI, directory: Any) -> None:
    expected = plume.load(directory("bert")).embed(TEXTS)[:, :5]
    np.testing.assert_allclose(vectors(client.embeddings.create(model="bert", input=TEXTS, dimensions=5)), expected, atol=1e-6)
    with pytest.raises(openai.BadRequestError) as refused:
        client.embeddings.create(model="bert", input=TEXTS, dimensions=500)
    assert refused.value.param == "dimensions"


def test_many_at_once(served: Any, directory: Any) -> None:
    texts = [f"{text} {number}" for number in range(20) for text in TEXTS]
    expected = plume.load(directory("bert")).embed(texts)

    async def ask() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*(client.embeddings.create(model="bert", input=text) for text in texts))

    found = np.concatenate([vectors(one) for one in asyncio.run(ask())])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_models(client: openai.OpenAI) -> None:
    assert [one.id for one in client.models.list()] == ["bert", "gpt", "classifier"]
    assert client.models.retrieve("gpt").owned_by == "plume"


def test_errors_are_those_that_the_client_knows(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        client.embeddings.create(model="brt", input="a")
    assert unknown.value.code == "model_not_found" and "did you mean bert" in unknown.value.message
    with pytest.raises(openai.UnprocessableEntityError) as unreadable:
        client.embeddings.create(model="bert", input=[1, "a"])  # type: ignore[list-item]
    assert unreadable.value.param == "input"
    with pytest.raises(openai.BadRequestError, match="out of range"):
        client.embeddings.create(model="bert", input=[10**9])


def test_predictions_are_those_of_python(served: Any, classifier: Path) -> None:
    texts = ["the cat sunny", "a rainy letter"]
    answer = served.client.post("/predict/classifier", json={"inputs": texts})
    expected = plume.load(classifier).predict(texts)
    assert [one["label"] for one in answer.json()["predictions"]] == [one["label"] for one in expected]
    refused = served.client.post("/predict/bert", json={"inputs": texts})
    assert refused.status_code == 400 and "not fine-tuned" in refused.json()["error"]["message"]


def test_zero_shot_is_that_of_python(served: Any, directory: Any) -> None:
    texts, labels = ["the cat sunny", "a rainy letter"], ["warm", "cold"]
    answer = served.client.post("/predict/bert", json={"inputs": texts, "labels": labels})
    expected = catalog.load("tasks", "zero-shot").TASK.predict(plume.load(directory("bert")), texts, labels=labels)
    assert answer.status_code == 200, answer.text
    assert [one["label"] for one in answer.json()["predictions"]] == [one["label"] for one in expected]
    refused = served.client.post("/predict/bert", json={"inputs": [["a", "pair"]], "labels": labels})
    assert refused.status_code == 422
    alone = served.client.post("/predict/bert", json={"inputs": texts, "labels": ["warm"]})
    assert alone.status_code == 400 and alone.json()["error"]["param"] == "labels"
