"""`plume serve --bert-as-service` and `plume serve --engine ray` as processes."""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from bert_serving.client import BertClient

from plume.api import load
from plume.model.use.language_model import LanguageModel

TEXTS = ["the cat finds a box", "小猫喜欢苹果。"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, language_model: Any) -> Path:
    out = tmp_path_factory.mktemp("served") / "m"
    made = language_model("bert")
    LanguageModel(made.model, made.tokenizer).save(out)
    return out


def free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def test_bert_as_service_answers_what_it_received_before_it_ends(launch: Any, folder: Path) -> None:
    port, port_out = free_ports(2)
    where = ["--port", "0", "--port-in", str(port), "--port-out", str(port_out)]
    process = launch(["serve", str(folder), "--bert-as-service", *where, "--pooling-layer", "-1", "--pooling-strategy", "CLS_TOKEN"])
    try:
        with BertClient(port=port, port_out=port_out, timeout=120_000) as client:
            assert client.server_config["pooling_layer"] == [-1]
            expected = np.stack([one.layers[-1][0] for one in load(folder).hidden(TEXTS)])
            np.testing.assert_allclose(client.encode(TEXTS), expected, atol=1e-5)
            for _ in range(20):
                client.encode(TEXTS * 20, blocking=False)
            first = next(client.fetch())  # so some were received, and others may be on their way
            process.send_signal(signal.SIGTERM)
            np.testing.assert_allclose(first.embedding, np.tile(expected, (20, 1)), atol=1e-5)
            process.wait(timeout=120)
            assert process.returncode == 0
            assert client.receiver.poll(1000) and int(client.receiver.recv_multipart()[-1]) > 0
    finally:
        process.kill()
        process.communicate()


def test_layers_that_are_not_there_are_said_at_the_start(launch: Any, folder: Path) -> None:
    port, port_out = free_ports(2)
    process = launch(
        [
            "serve",
            str(folder),
            "--bert-as-service",
            "--port",
            "0",
            "--port-in",
            str(port),
            "--port-out",
            str(port_out),
            "--pooling-layer",
            "-9",
        ]
    )
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2 and "There is no layer -9" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "slurm"], "There is no engine 'slurm'"),
        (["--replicas", "2"], "--replicas are Ray's"),
        (["--replicas", "5-2", "--engine", "ray"], "no number of replicas"),
        (["--bert-as-service", "--workers", "2"], "leave out --workers"),
        (["--bert-as-service", "--max-seq-len", "many"], "is no length"),
        (["--bert-as-service", "--pooling-layer", "top"], "names no layers"),
    ],
)
def test_options_that_do_not_fit(plume: Callable[..., Any], folder: Path, options: list[str], said: str) -> None:
    result = plume("serve", str(folder), *options)
    assert result.code == 2 and said in result.err


def test_without_ray_serve(plume: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray.serve", None)
    result = plume("serve", str(folder), "--engine", "ray")
    assert result.code == 2 and "pip install 'ray[serve]'" in result.err


@pytest.fixture
def ray(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A Ray of our own, with a token of its own; stopped by its process, so that others on this machine go on."""
    pytest.importorskip("ray.serve", reason="Ray Serve is not there: pip install 'ray[serve]'", exc_type=ImportError)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_urlsafe(24))
    (port,) = free_ports(1)
    begin = ["start", "--head", "--block", "--num-cpus=2", f"--port={port}", "--include-dashboard=false", "--disable-usage-stats"]
    command = [str(Path(sys.executable).with_name("ray")), *begin]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        assert any("Ray runtime started" in line for line in process.stdout)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=120)


@pytest.mark.slow
def test_on_ray(ray: str, folder: Path) -> None:
    (port,) = free_ports(1)
    where = ["--engine", "ray", "--address", ray, "--port", str(port), "--replicas", "1-2"]
    command = [sys.executable, "-m", "plume", "serve", str(folder), *where]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said: list[str] = []
        assert any("on Ray, 1 to 2 replicas" in (said.append(line) or line) for line in process.stderr), said  # type: ignore[func-returns-value]
        url = f"http://127.0.0.1:{port}"
        answer = httpx.post(f"{url}/v1/embeddings", json={"model": "m", "input": TEXTS}, timeout=120).json()
        np.testing.assert_allclose([one["embedding"] for one in answer["data"]], load(folder).embed(TEXTS), atol=1e-5)
        assert httpx.post(f"{url}/fill", json={"model": "m", "inputs": "no blank"}, timeout=120).status_code == 400
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()
        process.communicate()
