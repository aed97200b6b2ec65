"""A server under pressure: overload, clients that hang up, and a long soak whose every answer is checked.

    python bench/serve_soak.py --model DIR [--requests 1000000] [--overload 300] [--hang-ups 1000] [--runtime torch] [--quick]

`--model` is a model directory. Overload: ten times as many clients as the server answers at ease ask for so many seconds against a small
queue; accepted requests must be answered and the others refused with 429. Hang-ups: clients that close their connection before the answer.
Soak: requests whose vectors are held against the model's own, so that a wrong, crossed or lost answer is counted. The server's memory is
read before and after each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from serve import free_port, text

TEXTS = 500
_AT_EASE = 32  # clients


async def ask(port: int, number: int, *, hang_up: bool = False) -> tuple[int, list[float] | None]:
    """The status and the vector; a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        body = json.dumps({"model": "model", "input": text(number), "encoding_format": "float"}).encode()
        head = f"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        if hang_up:
            return 0, None
        status, _, answer = (await reader.read()).partition(b"\r\n\r\n")
        code = int(status.split(b" ", 2)[1])
        return code, json.loads(answer)["data"][0]["embedding"] if code == 200 else None
    finally:
        writer.close()


async def many(port: int, clients: int, numbers: int, seconds: float | None, wanted: np.ndarray) -> tuple[Counter[str], list[float]]:
    """So many requests, or for so long, by so many clients at a time; counted by how they ended, with the times of those that were answered."""
    ends: Counter[str] = Counter()
    times: list[float] = []
    left = iter(range(numbers))
    until = time.monotonic() + (seconds or 1e9)

    async def client() -> None:
        for number in left:
            if time.monotonic() > until:
                return
            began = time.monotonic()
            try:
                code, vector = await ask(port, number % TEXTS)
            except (OSError, IndexError, ValueError):
                ends["lost"] += 1
                continue
            if code == 200:
                times.append(time.monotonic() - began)
                ends["right" if np.allclose(vector, wanted[number % TEXTS], atol=1e-3) else "wrong"] += 1
            else:
                ends[str(code)] += 1
                await asyncio.sleep(0.05)  # as a client would that is told to come back

    await asyncio.gather(*(client() for _ in range(clients)))
    return ends, times


def memory(pid: int) -> int:
    """Of the process, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


async def hang_ups(port: int, count: int) -> None:
    """Clients that close at once."""
    for first in range(0, count, 50):
        await asyncio.gather(*(ask(port, number, hang_up=True) for number in range(first, min(first + 50, count))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--runtime", default="torch")
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--overload", type=float, default=300.0, help="Seconds.")
    parser.add_argument("--hang-ups", type=int, default=1_000)
    parser.add_argument("--quick", action="store_true", help="Few of each: does it run?")
    given = parser.parse_args()
    requests, overload, hanging = (2_000, 5.0, 100) if given.quick else (given.requests, given.overload, given.hang_ups)

    import plume

    wanted = plume.load(given.model, runtime=given.runtime).embed([text(number) for number in range(TEXTS)])
    with ExitStack() as stack:
        port, process = served(stack, given)
        for name, clients, numbers, seconds in (
            ("warm", _AT_EASE, 2_000, None), ("overload", 10 * _AT_EASE, 10**9, overload), ("after", _AT_EASE, 2_000, None),
            ("hang-ups", 0, hanging, None), ("after", _AT_EASE, 2_000, None), ("soak", _AT_EASE, requests, None),
        ):  # fmt: skip
            began, before = time.monotonic(), memory(process)
            if name == "hang-ups":
                asyncio.run(hang_ups(port, numbers))
                ends, times = Counter({"hung up": numbers}), [0.0]
            else:
                ends, times = asyncio.run(many(port, clients, numbers, seconds, wanted))
            spread = f"p50 {1000 * statistics.median(times):.0f} ms, slowest {1000 * max(times):.0f} ms"
            print(
                f"{name:<9} {time.monotonic() - began:6.0f} s  {dict(ends)}  {spread}  memory {before} → {memory(process)} MB", flush=True
            )


def served(stack: ExitStack, given: argparse.Namespace) -> tuple[int, int]:
    """The port and the process of a server with a small queue."""
    import subprocess
    import sys

    port = free_port()
    options = ["--port", str(port), "--runtime", given.runtime, "--queue-tokens", "2000"]
    command = [sys.executable, "-m", "plume", "serve", f"model={given.model}", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    while True:
        try:
            if asyncio.run(ask(port, 0))[0] == 200:
                return port, process.pid
        except OSError:
            if process.poll() is not None:
                raise SystemExit(f"the server did not start: {' '.join(command)}") from None
        time.sleep(0.5)


if __name__ == "__main__":
    main()
