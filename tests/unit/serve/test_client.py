"""plume.Client and plume.AsyncClient against a running server."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

import plume
from plume.serve.client import transport
from plume.serve.client.retrying import RequestRefused

TEXTS = ["The cat finds a wooden box.", "小猫喜欢苹果。"]


@pytest.fixture(scope="module")
def index(directory: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search") / "news"
    with plume.Index.create(folder, model=str(directory("bert"))) as made:
        made.add([{"id": str(number), "text": text} for number, text in enumerate(TEXTS)])
    return folder


@pytest.fixture(scope="module")
def served(server: Callable[..., Any], directory: Callable[[str], Path], classifier: Path, index: Path) -> Iterator[Any]:
    with server(directory("bert"), classifier, index, batch_texts=7) as running:
        yield running


@pytest.fixture
def client(served: Any) -> Iterator[plume.Client]:
    with plume.Client(served.url, retries=0) as client:
        yield client


def test_every_endpoint(client: plume.Client, directory: Any, classifier: Path) -> None:
    model = plume.load(directory("bert"))
    np.testing.assert_allclose(client.embed(TEXTS, model="bert"), model.embed(TEXTS), atol=1e-6)
    assert client.embed("a text", model="bert", dimensions=5).shape == (1, 5)
    assert client.predict(TEXTS, model="classifier")[0]["label"] == plume.load(classifier).predict(TEXTS)[0]["label"]
    assert set(client.predict(TEXTS, model="bert", labels=["a cat", "rain"])[0]["scores"]) == {"a cat", "rain"}
    assert client.fill("the ___ finds", model="bert", top=2)[0][0][0]["token"] == model.fill("the ___ finds")[0][0].token
    assert client.score(TEXTS, model="bert")[0]["perplexity"] == pytest.approx(model.score(TEXTS)[0].perplexity, rel=1e-5)
    np.testing.assert_allclose(client.hidden(TEXTS, model="bert")[1]["layers"][-1], model.hidden(TEXTS)[1].layers[-1], atol=1e-5)
    assert len(client.classify(TEXTS, model="classifier")) == 2
    assert client.rerank(TEXTS[0], TEXTS, model="bert", top=1)[0]["document"] == TEXTS[0]
    assert client.search("a wooden box", index="news", top=1)[0]["id"] == "0"
    assert client.search(model.embed(TEXTS[1])[0], index="news", top=1)[0]["id"] == "1"
    assert [one["id"] for one in client.models()] == ["bert", "classifier", "news"]
    assert client.health()["limits"]["texts"] == 7


def test_long_lists_go_in_parts(client: plume.Client, directory: Any, served: Any) -> None:
    """The server takes seven texts at once."""
    texts = [f"{text} {number}" for number in range(10) for text in TEXTS]
    expected = plume.load(directory("bert")).embed(texts)
    np.testing.assert_allclose(client.embed(texts, model="bert"), expected, atol=1e-5)
    ranked = client.rerank(TEXTS[0], texts, model="bert")
    assert sorted(one["index"] for one in ranked) == list(range(20)) and ranked[0]["document"] == texts[ranked[0]["index"]]

    async def ask() -> Any:
        async with plume.AsyncClient(served.url) as several:
            return await asyncio.gather(
                several.embed(texts, model="bert"), several.search("a box", index="news"), several.predict(texts, model="classifier")
            )

    vectors, hits, labels = asyncio.run(ask())
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert len(hits) == 2 and len(labels) == 20


def test_refusals_say_why(client: plume.Client) -> None:
    with pytest.raises(RequestRefused, match="did you mean bert") as unknown:
        client.embed(TEXTS, model="brt")
    assert (unknown.value.status, unknown.value.code, unknown.value.param) == (404, "model_not_found", "model")
    with pytest.raises(plume.PlumeError, match="not fine-tuned"):
        client.predict(TEXTS, model="bert")
    with pytest.raises(plume.PlumeError, match="no name of a model"):
        client.predict(TEXTS, model="../bert")
    with pytest.raises(plume.PlumeError, match="no text"):
        client.embed([], model="bert")


def test_a_key_with_a_rate(server: Any, directory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused because it comes too often is asked again when the server says; a wrong key never."""
    waits: list[float] = []
    monkeypatch.setattr(transport.time, "sleep", lambda seconds, sleep=time.sleep: (waits.append(seconds), sleep(seconds)))
    (tmp_path / "keys").write_text("s3cret alice 1/s\n")
    with server(directory("bert"), keys=tmp_path / "keys") as running:
        with plume.Client(running.url, key="s3cret") as allowed:
            for _ in range(2):
                assert allowed.embed(TEXTS, model="bert").shape[0] == 2
        assert len(waits) >= 1 and all(wait >= 1 for wait in waits)
        waits.clear()
        with plume.Client(running.url, key="wrong") as other, pytest.raises(plume.PlumeError, match="Incorrect API key"):
            other.models()
        assert not waits


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(transport.time, "sleep", waits.append)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with plume.Client(f"http://127.0.0.1:{port}", retries=3) as client, pytest.raises(plume.PlumeError, match="is the server running"):
        client.models()
    assert len(waits) == 3 and waits == sorted(waits)


@pytest.fixture(scope="module")
def writer() -> Iterator[str]:
    """A server that writes as ours does, so that what is streamed is known."""

    async def generate(request: Request) -> Any:
        asked = json.loads(await request.body())
        if asked["prompt"] == "refused":
            return JSONResponse({"error": {"message": "No.", "param": "prompt", "code": "invalid_value"}}, status_code=400)
        if not asked.get("stream"):
            return JSONResponse({"results": [[{"text": " all at once"}]]})

        async def pieces() -> Any:
            for piece in (" one", " 二", "!"):
                yield f"data: {json.dumps({'prompt': 0, 'sample': 0, 'text': piece})}\n\n"
            if asked["prompt"] == "breaks":
                yield f"data: {json.dumps({'error': {'message': 'The model was unloaded.'}})}\n\n"
            yield "data: [DONE]\n\n"

        return StreamingResponse(pieces(), media_type="text/event-stream")

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    app = Starlette(routes=[Route("/generate", generate, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_streaming(writer: str) -> None:
    with plume.Client(writer) as client:
        assert list(client.stream("once", model="gpt", max_tokens=3)) == [" one", " 二", "!"]
        assert client.generate("once", model="gpt") == " all at once"
        with pytest.raises(plume.PlumeError, match="No"):
            next(client.stream("refused", model="gpt"))
        with pytest.raises(plume.PlumeError, match="unloaded"):
            list(client.stream("breaks", model="gpt"))

    async def ask() -> list[str]:
        async with plume.AsyncClient(writer) as several:
            return [piece async for piece in several.stream("once", model="gpt")]

    assert asyncio.run(ask()) == [" one", " 二", "!"]


def test_no_torch() -> None:
    """Whoever only asks a server needs nothing of what it runs with."""
    code = (
        "import sys, plume; plume.Client; print([one for one in ('torch', 'fastapi', 'uvicorn', 'zmq', 'pydantic') if one in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
