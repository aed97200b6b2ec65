"""What a server refuses, and how: limits, keys, a full queue, time-outs, clients that hang up."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import httpx
import pytest

from plume.core.errors import PlumeError
from plume.serve.http.keys import Bucket, Keys
from plume.serve.models import shelf
from plume.serve.operations.embed import Embed


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The model computes when it may."""

    class Held:
        go, running, count = threading.Event(), threading.Semaphore(0), 0

    run = Embed.run

    def wait(self: Embed, opened: Any, prepared: Any) -> Any:
        Held.count += len(prepared)
        Held.running.release()
        Held.go.wait()
        return run(self, opened, prepared)

    monkeypatch.setattr(Embed, "warm_up", lambda *_: None)
    monkeypatch.setattr(Embed, "run", wait)
    yield Held
    Held.go.set()


def ask(running: Any, text: Any = "a", **more: Any) -> httpx.Response:
    answer: httpx.Response = running.client.post("/v1/embeddings", json={"model": "bert", "input": text} | more)
    return answer


def error(answer: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = answer.json()["error"]
    assert set(found) == {"message", "type", "param", "code"}
    return found


def test_sizes(server: Callable[..., Any], directory: Callable[[str], Path], classifier: Path) -> None:
    with server(directory("bert"), classifier, body_bytes=2000, text_characters=50, batch_texts=3) as running:
        assert ask(running).status_code == 200
        assert error(ask(running, "a" * 3000))["code"] == "too_large"
        assert error(ask(running, "a" * 51))["param"] == "input"
        assert ask(running, ["a", "a" * 51]).status_code == 413
        assert ask(running, ["a"] * 4).status_code == 413
        assert ask(running, [1] * 51).status_code == 413
        assert running.client.post("/predict/classifier", json={"inputs": [["a" * 51]]}).status_code == 413
        streamed = running.client.post("/v1/embeddings", content=(b"a" * 1000 for _ in range(3)))  # no content-length
        assert streamed.status_code == 413


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", None), (b"{", None), (b"[]", None), (b'"a"', None), (b"\xff\xfe", None), (b"[" * 1500, None),
        (b'{"input": "a"}', "model"), (b'{"model": 3, "input": "a"}', "model"), (b'{"model": "bert"}', "input"),
        (b'{"model": "bert", "input": []}', "input"), (b'{"model": "bert", "input": [[]]}', "input"),
        (b'{"model": "bert", "input": [true]}', "input"), (b'{"model": "bert", "input": {"a": 1}}', "input"),
        (b'{"model": "bert", "input": "a", "encoding_format": "hex"}', "encoding_format"),
        (b'{"model": "bert", "input": "a", "dimensions": 0}', "dimensions"), (b'{"model": "bert", "input": "a", "dimensions": 1.5}', "dimensions"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_names_the_field(served: Any, body: bytes, param: str | None) -> None:
    answer = served.client.post("/v1/embeddings", content=body)
    assert answer.status_code == 422
    assert error(answer)["param"] == param


@pytest.fixture(scope="module")
def served(server: Callable[..., Any], directory: Callable[[str], Path], classifier: Path) -> Iterator[Any]:
    with server(directory("bert"), classifier) as running:
        yield running


def test_odd_texts_are_embedded(served: Any) -> None:
    odd = ["", " ", "\x00", "a" * 100_000, "👩‍👩‍👧", "[CLS] [MASK]"]
    assert len(ask(served, odd).json()["data"]) == len(odd)
    half_a_pair = json.dumps({"model": "bert", "input": "\ud800"})  # which is no text in UTF-8
    assert served.client.post("/v1/embeddings", content=half_a_pair).status_code == 422


def test_paths_and_methods(served: Any) -> None:
    assert error(served.client.get("/nowhere"))["code"] == "not_found"
    assert error(served.client.get("/v1/embeddings"))["code"] == "method_not_allowed"
    assert error(served.client.get("/v1/models/nobody"))["code"] == "model_not_found"
    assert error(served.client.post("/predict/..%2f..%2fetc", json={"inputs": ["a"]}))["code"] in ("model_not_found", "not_found")
    assert "src=" not in served.client.get("/docs").text and "//" not in served.client.get("/docs").text.replace("https://", "//")


def test_predict_names_the_item(served: Any) -> None:
    answer = served.client.post("/predict/classifier", json={"inputs": ["the cat", ["a", "pair"]]})
    assert (answer.status_code, error(answer)["param"]) == (422, "inputs.1")
    answer = served.client.post("/predict/classifier", json={"inputs": ["the cat"], "task": "ner"})
    assert (answer.status_code, error(answer)["param"]) == (400, "task")


def test_metrics_count(served: Any) -> None:
    def read(name: str) -> float:
        lines = [line for line in served.client.get("/metrics").text.splitlines() if line.startswith(name)]
        return sum(float(line.split()[-1]) for line in lines)

    before = read('plume_tokens_total{model="bert"'), read('plume_batch_requests_count{model="bert"')
    tokens = ask(served, ["the cat", "a letter"]).json()["usage"]["total_tokens"]
    assert read('plume_tokens_total{model="bert"') - before[0] == tokens
    assert read('plume_batch_requests_count{model="bert"') - before[1] == 1
    assert read('plume_queue_requests{model="bert"') == 0


def test_keys(server: Callable[..., Any], directory: Callable[[str], Path], tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    file.write_text("# for us\nsecret alice\nother bob 2/h\n\nthird 1/h\n", encoding="utf-8")
    with server(directory("bert"), keys=file) as running:
        assert running.client.get("/health").status_code == 200
        refused = ask(running)
        assert (
            refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer" and error(refused)["code"] == "invalid_api_key"
        )
        for wrong in ("secre", "secrets", "alice", "密"):
            running.client.headers["Authorization"] = f"Bearer {wrong}"
            assert ask(running).status_code == 401
        running.client.headers["Authorization"] = "Bearer secret"
        assert [ask(running).status_code for _ in range(4)] == [200] * 4
        running.client.headers["Authorization"] = "bearer other"
        answers = [ask(running) for _ in range(3)]
        assert [one.status_code for one in answers] == [200, 200, 429] and 1000 < int(answers[2].headers["retry-after"]) <= 1800


@pytest.mark.parametrize(("text", "complaint"), [("", "has no key"), ("a b c d", "4 words"), ("a b 10", "no rate"), ("a b 0/s", "no rate")])
def test_a_key_file_that_cannot_be_read(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "keys").write_text(text, encoding="utf-8")
    with pytest.raises(PlumeError, match=complaint):
        Keys.read(tmp_path / "keys")
    with pytest.raises(PlumeError, match="cannot be read"):
        Keys.read(tmp_path / "none")


def test_a_rate_is_kept() -> None:
    bucket = Bucket(size=10, seconds=1)
    assert [bucket.take(0.0) > 0 for _ in range(11)] == [False] * 10 + [True]
    assert bucket.take(0.0) == pytest.approx(0.1)
    assert [bucket.take(0.5) > 0 for _ in range(6)] == [False] * 5 + [True]


def test_a_full_queue_is_429(server: Callable[..., Any], directory: Callable[[str], Path], held: Any) -> None:
    with server(directory("bert"), queue_tokens=20) as running, ThreadPoolExecutor(8) as pool:
        first = pool.submit(ask, running)
        held.running.acquire()
        waiting = pool.submit(ask, running, [5] * 16)  # with its frame it takes 18
        while not _waiting(running):
            time.sleep(0.02)  # leaves the core to the server
        refused = ask(running, "the cat")
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
        assert error(refused)["type"] == "rate_limit_error"
        held.go.set()
        assert first.result().status_code == waiting.result().status_code == 200
        assert ask(running, "the cat").status_code == 200


def _waiting(running: Any) -> float:
    """Requests in bert's queue."""
    line = next(line for line in running.client.get("/metrics").text.splitlines() if line.startswith('plume_queue_requests{model="bert"'))
    return float(line.split()[-1])


def test_a_client_that_hangs_up_frees_its_place(server: Callable[..., Any], directory: Callable[[str], Path], held: Any) -> None:
    with server(directory("bert")) as running, ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, running)
        held.running.acquire()
        address = urlparse(running.url)
        leaving = []
        for number in range(20):
            connection = http.client.HTTPConnection(address.hostname or "", address.port)
            connection.request("POST", "/v1/embeddings", json.dumps({"model": "bert", "input": f"number {number}"}))
            leaving.append(connection)
        while _waiting(running) < 20:
            time.sleep(0.02)  # leaves the core to the server
        for connection in leaving:
            connection.close()
        while _waiting(running):
            time.sleep(0.02)  # leaves the core to the server
        held.go.set()
        assert first.result().status_code == 200
        assert ask(running).status_code == 200
        assert held.count == 2


def test_time_out_is_504(server: Callable[..., Any], directory: Callable[[str], Path], held: Any) -> None:
    with server(directory("bert"), timeout=0.05) as running:
        answer = ask(running)
        assert answer.status_code == 504 and error(answer)["code"] == "timeout"
        held.go.set()


def test_503_while_loading(server: Callable[..., Any], directory: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    go, opened, seen = threading.Event(), shelf.open_served, []
    monkeypatch.setattr(shelf, "open_served", lambda *given: (go.wait(), opened(*given))[1])

    class Asking(httpx.Client):
        """Looks at the first answers, then lets the model load."""

        def get(self, url: Any, **more: Any) -> httpx.Response:
            answer = super().get(url, **more)
            seen.append(answer)
            if len(seen) == 1:
                seen.append(self.post("/v1/embeddings", json={"model": "bert", "input": "a"}))
                go.set()
            return answer

    monkeypatch.setattr(httpx, "Client", Asking)
    with server(directory("bert")) as running:
        assert seen[0].status_code == seen[1].status_code == 503
        assert error(seen[1])["code"] == "loading" and seen[1].headers["retry-after"] == "1"
        assert ask(running).status_code == 200


def test_cors_only_if_asked_for(server: Callable[..., Any], directory: Callable[[str], Path]) -> None:
    asking = {"Origin": "https://page.example"}
    with server(directory("bert")) as running:
        assert "access-control-allow-origin" not in running.client.get("/v1/models", headers=asking).headers
    with server(directory("bert"), cors=("https://page.example",)) as running:
        assert running.client.get("/v1/models", headers=asking).headers["access-control-allow-origin"] == "https://page.example"
        assert "access-control-allow-origin" not in running.client.get("/v1/models", headers={"Origin": "https://other.example"}).headers


@pytest.mark.parametrize("texts", [False, True])
def test_the_log_has_texts_only_if_asked_for(
    server: Callable[..., Any], directory: Callable[[str], Path], capsys: pytest.CaptureFixture[str], texts: bool
) -> None:
    logging.getLogger("plume.serve").setLevel(logging.INFO)
    try:
        with server(directory("bert"), log_texts=texts) as running:
            ask(running, "a secret sentence")
    finally:
        logging.getLogger("plume.serve").setLevel(logging.NOTSET)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    line = next(line for line in lines if line.get("path") == "/v1/embeddings")
    assert (line["status"], line["model"]) == (200, "bert") and line["tokens"] > 0 and line["seconds"] > 0
    assert ("secret" in json.dumps(lines)) == texts
