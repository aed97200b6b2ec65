"""Small models in directories, and servers that run in a thread: the whole application, on a port of its own."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

import plume
from plume.core.errors import PlumeError
from plume.model.use.language_model import LanguageModel
from plume.serve.engine.engine import ServingEngine
from plume.serve.http.app import make_app
from plume.serve.models.served import find_served
from plume.serve.settings import ServeSettings


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server, and a client of it."""

    url: str
    client: httpx.Client
    engine: ServingEngine
    app: FastAPI
    loop: asyncio.AbstractEventLoop
    failures: list[PlumeError]  # what would have ended it at its start


@contextmanager
def running(*directories: str | Path, **settings: Any) -> Iterator[Running]:
    """Serves them until the end of the block."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    loops: list[asyncio.AbstractEventLoop] = []
    failures: list[PlumeError] = []
    served = find_served([str(one) for one in directories])
    app = make_app(served, ServeSettings(**({"threads": 1} | settings)), failed=failures.append)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none"))

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve(sockets=[listening])

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        with httpx.Client(base_url=url, timeout=30) as client:
            _until_ready(client, thread, failures)
            yield Running(url=url, client=client, engine=app.state.engine, app=app, loop=loops[0], failures=failures)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def _until_ready(client: httpx.Client, thread: threading.Thread, failures: list[PlumeError]) -> None:
    while thread.is_alive() and not failures:
        try:
            if client.get("/ready").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.02)
    raise failures[0] if failures else AssertionError("the server did not start")


@pytest.fixture(scope="session")
def server() -> Callable[..., Any]:
    """`with server(folder, queue_tokens=…) as running: running.client.post(…)`"""
    return running


@pytest.fixture(scope="session")
def directory(language_model: Callable[[str], LanguageModel], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A family's miniature as a model directory, by its name."""
    home = tmp_path_factory.mktemp("models")

    def make(family: str) -> Path:
        folder = home / family
        if not folder.exists():
            made = language_model(family)
            LanguageModel(made.model, made.tokenizer).save(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def classifier(directory: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bert tuned for warm and cold, a little."""
    folder = tmp_path_factory.mktemp("tuned")
    lines = [f"the cat {word} letter\t{label}" for word, label in (("sunny", "warm"), ("rainy", "cold"))] * 8
    (folder / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    train = str(folder / "train.tsv")
    plume.tune(directory("bert"), task="classification", train=train, dev=train, out=folder / "classifier", epochs=1.0, quiet=True)
    return folder / "classifier"


@pytest.fixture(scope="session")
def talker(miniature: Any, built: Any, tokenizer_for: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """gpt2 tuned on a few conversations."""
    folder = tmp_path_factory.mktemp("talker")
    recipe = miniature("gpt2", length=64)
    tokenizer = tokenizer_for(recipe)
    LanguageModel(built(recipe, vocabulary=tokenizer.size).float(), tokenizer).save(folder / "gpt2")
    said = ["The cat finds", "a wooden box", "一封信"]
    lines = [
        json.dumps({"messages": [{"role": "user", "content": one}, {"role": "assistant", "content": "a letter today"}]}) for one in said
    ]
    train = folder / "train.jsonl"
    train.write_text("\n".join(lines * 6) + "\n", encoding="utf-8")
    plume.tune(folder / "gpt2", task="dialogue", train=str(train), dev=str(train), out=folder / "chat", epochs=1.0, quiet=True)
    return folder / "chat"
