"""Requests/s and latency of /v1/embeddings at 1, 8 and 32 clients: plume, a plain FastAPI + sentence-transformers server, and infinity.

    python bench/serve.py --weights FOLDER [--runtimes torch,onnx-int8] [--infinity PYTHON] [--rounds 5] [--requests 400] [--quick]

`--weights` is a folder of sentence-transformers (all-MiniLM-L6-v2). infinity needs an environment of its own: `--infinity` is the python of it
(or the variable INFINITY_PYTHON). One text a request; the clients are on the same cores, in one process, with a connection each. All servers
run; they take turns, and so does the model itself, alone and without HTTP (`LanguageModel.embed`, one text at a time). Printed are medians
over the rounds, and the ratio of one client's latency to the model's own time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLIENTS = (1, 8, 32)
INFINITY = "from infinity_emb.cli import cli; cli()"
_WORDS = ("the council has agreed to open a second library near the old harbour next spring if the money can be found in time").split()  # noqa: SIM905


def text(number: int) -> str:
    """Six to eighteen words; no two are alike, so that nothing can be remembered."""
    count = 6 + number % 13
    return " ".join(_WORDS[(number * 7 + place * 3) % len(_WORDS)] for place in range(count)) + f", {number}."


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A server that runs."""

    name: str
    port: int
    model: str


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What one round of one server showed."""

    rate: float  # requests/s
    median: float  # ms
    slow: float  # ms, the 95th of a hundred


def request(peer: Peer, number: int) -> bytes:
    """As bytes: the client must not be what is measured."""
    body = json.dumps({"model": peer.model, "input": text(number), "encoding_format": "float"}).encode()
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1:{peer.port}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def client(peer: Peer, numbers: range, times: list[float]) -> None:
    """One after the other on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number in numbers:
        asked = request(peer, number)
        began = time.perf_counter()
        writer.write(asked)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{peer.name}: {head.splitlines()[0].decode()}")
        lines = head.lower().split(b"\r\n")
        length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        times.append(1_000 * (time.perf_counter() - began))
    writer.close()


async def measure(peer: Peer, clients: int, requests: int, first: int) -> Speed:
    """So many requests, shared between the clients."""
    times: list[float] = []
    each = max(1, requests // clients)
    began = time.perf_counter()
    await asyncio.gather(*(client(peer, range(first + one * each, first + (one + 1) * each), times) for one in range(clients)))
    taken = time.perf_counter() - began
    return Speed(rate=len(times) / taken, median=statistics.median(times), slow=sorted(times)[int(0.95 * (len(times) - 1))])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def start(stack: ExitStack, name: str, command: Callable[[int], list[str]], model: str, **environment: str) -> Peer:
    """A server in a process, until the end."""
    port = free_port()
    process = subprocess.Popen(
        command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}, start_new_session=True
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    peer = Peer(name=name, port=port, model=model)
    until = time.monotonic() + 300
    while True:
        try:
            asyncio.run(measure(peer, 1, 3, 0))
            return peer
        except (OSError, RuntimeError, asyncio.IncompleteReadError):
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{name} did not start: {' '.join(command(port))}") from None
            time.sleep(0.5)


def peers(stack: ExitStack, weights: Path, given: argparse.Namespace) -> list[Peer]:
    """All servers."""
    here = [sys.executable]
    found = [
        start(
            stack,
            f"plume {runtime}",
            lambda port, runtime=runtime: [*here, "-m", "plume", "serve", f"minilm={weights}", "--port", str(port), "--runtime", runtime],
            "minilm",
        )
        for runtime in given.runtimes.split(",")
    ]
    plain = str(Path(__file__).with_name("_serve_plain.py"))
    found.append(start(stack, "FastAPI + sentence-transformers", lambda port: [*here, plain, str(weights), str(port)], "minilm"))
    if given.infinity:
        options = ["--engine", "torch", "--device", "cpu", "--url-prefix", "/v1", "--served-model-name", "minilm"]
        found.append(
            start(
                stack,
                "infinity",
                lambda port: [
                    given.infinity,
                    "-c",
                    "from infinity_emb.cli import cli; cli()",
                    "v2",
                    "--model-id",
                    str(weights),
                    "--port",
                    str(port),
                    *options,
                ],
                "minilm",
                PYTHONPATH="",
                DO_NOT_TRACK="1",
                HF_HUB_OFFLINE="1",
            )
        )
    return found


def own_times(weights: Path, folder: Path, runtimes: list[str]) -> dict[str, Callable[[int], float]]:
    """Milliseconds of the model alone, the median over so many texts."""
    import plume

    plume.import_hf(weights, out=folder / "model")

    def timed(model: Any, count: int) -> float:
        times = []
        for number in range(count):
            began = time.perf_counter()
            model.embed(text(number))
            times.append(1_000 * (time.perf_counter() - began))
        return statistics.median(times)

    loaded = {runtime: plume.load(folder / "model", runtime=runtime) for runtime in runtimes}
    return {f"plume {runtime}": lambda count, model=model: timed(model, count) for runtime, model in loaded.items()}


def main() -> None:
    """A table: a line for each server and number of clients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--runtimes", default="torch,onnx-int8", help="Of plume, comma-separated.")
    parser.add_argument("--infinity", default=os.environ.get("INFINITY_PYTHON"), help="Python of an environment with infinity-emb 0.0.78.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=400, help="Of each server, number of clients and round.")
    parser.add_argument("--quick", action="store_true", help="One round of few requests: does it run?")
    given = parser.parse_args()
    rounds, requests = (1, 64) if given.quick else (given.rounds, given.requests)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        own = own_times(given.weights, folder, given.runtimes.split(","))
        servers = peers(stack, given.weights, given)
        speeds: dict[tuple[str, int], list[Speed]] = {}
        alone: dict[str, list[float]] = {name: [] for name in own}
        for number in range(rounds):
            for name, timed in own.items():
                alone[name].append(timed(requests // 4))
            for clients in CLIENTS:
                for peer in servers:
                    found = asyncio.run(measure(peer, clients, requests, number * requests))
                    speeds.setdefault((peer.name, clients), []).append(found)
    show(speeds, {name: statistics.median(times) for name, times in alone.items()})


def show(speeds: dict[tuple[str, int], list[Speed]], own: dict[str, float]) -> None:
    """Medians over the rounds."""
    print(f"load {os.getloadavg()[0]:.1f}; the model alone, ms: {', '.join(f'{name} {ms:.1f}' for name, ms in own.items())}")
    print(f"{'server':32} {'clients':>7} {'requests/s':>10} {'p50 ms':>8} {'p95 ms':>8}  of the model's own time")
    for (name, clients), rounds in sorted(speeds.items(), key=lambda one: (one[0][1], one[0][0])):
        rate, median, slow = (statistics.median(getattr(one, field) for one in rounds) for field in ("rate", "median", "slow"))
        ratio = f"× {median / own[name]:.2f}" if clients == 1 and name in own else ""
        print(f"{name:32} {clients:7} {rate:10.0f} {median:8.1f} {slow:8.1f}  {ratio}")


if __name__ == "__main__":
    main()
