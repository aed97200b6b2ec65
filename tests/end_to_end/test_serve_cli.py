"""`plume serve` as a process: it says where it listens, answers what it accepted before it ends, and replaces a worker that was killed."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.api import load
from plume.model.use.language_model import LanguageModel

BODY = json.dumps({"model": "m", "input": ["the cat finds a box"]}).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, language_model: Any) -> Path:
    out = tmp_path_factory.mktemp("served") / "m"
    made = language_model("bert")
    LanguageModel(made.model, made.tokenizer).save(out)
    return out


class Served:
    """A process, and where it listens."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://([\d.]+):(\d+)", line)
        assert found, line
        self.host, self.port = found[1], int(found[2])

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=120)

    def ask(self, method: str = "POST", path: str = "/v1/embeddings", body: bytes | None = BODY) -> tuple[int, bytes]:
        connection = self.connection()
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def until_closed(self) -> None:
        """Nobody is let in any more."""
        while True:
            try:
                self.ask("GET", "/health", None)
            except (OSError, http.client.HTTPException):
                return

    def ready(self) -> None:
        while self.ask("GET", "/ready", None)[0] != 200:
            time.sleep(0.02)  # leaves the core to the server


@contextmanager
def serving(launch: Any, *arguments: object) -> Iterator[Served]:
    process = launch(["serve", *map(str, arguments), "--port", "0"])
    try:
        served = Served(process)
        served.ready()
        yield served
    finally:
        process.kill()
        process.communicate()


def test_sigterm_answers_what_was_accepted(launch: Any, folder: Path) -> None:
    with serving(launch, folder) as served:
        connection = served.connection()
        connection.putrequest("POST", "/v1/embeddings")
        connection.putheader("Content-Length", str(len(BODY)))
        connection.endheaders(BODY[:10])
        other = served.connection()
        for _ in range(2):  # when it has answered these, it has read the beginning of the first
            other.request("GET", "/health")
            other.getresponse().read()
        served.process.send_signal(signal.SIGTERM)
        served.until_closed()
        connection.send(BODY[10:])
        answer = connection.getresponse()
        vector = json.loads(answer.read())["data"][0]["embedding"]
        assert answer.status == 200
        np.testing.assert_allclose(vector, load(folder).embed(["the cat finds a box"])[0], atol=1e-5)
        assert served.process.wait() == 0


def test_a_killed_worker_is_replaced(launch: Any, folder: Path) -> None:
    with serving(launch, f"m={folder}", "--workers", "2") as served:
        before = children(served.process.pid)
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        assert [served.ask()[0] for _ in range(20)] == [200] * 20  # the other goes on
        while len(now := children(served.process.pid)) < 2 or before[0] in now:
            time.sleep(0.02)  # leaves the core to the server
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait() == 0
        assert not children(served.process.pid)


def children(process: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_model_that_cannot_be_loaded_ends_it(launch: Any, tmp_path: Path, folder: Path, workers: str) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in folder.iterdir():
        (broken / file.name).write_bytes(file.read_bytes()[: 1000 if file.suffix == ".safetensors" else None])
    process = launch(["serve", str(broken), "--port", "0", "--workers", workers])
    _, said = process.communicate()
    assert process.returncode == 2
    assert "model.safetensors" in said and "Traceback" not in said


def test_what_cannot_be_served(plume: Any, tmp_path: Path, folder: Path) -> None:
    for arguments, complaint in (
        ([str(tmp_path / "nowhere")], "There is no directory"),
        ([str(tmp_path)], "holds neither a model"),
        ([str(folder), f"m={folder}"], "would both be called 'm'"),
        ([f"a b={folder}"], "cannot be a name"),
        ([str(folder), "--runtime", "tensorflow"], "no runtime"),
        ([str(folder), "--memory", "much"], "no size"),
        ([str(folder), "--port", "70000"], "no port"),
        ([str(folder), "--max-tokens", "0"], "--max-tokens must be more than 0"),
    ):
        result = plume("serve", *arguments)
        assert (result.code, complaint in result.err) == (2, True), result.err
