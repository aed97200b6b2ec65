"""What a server is told when it starts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError, suggest
from plume.core.machine import cores
from plume.serve.bert_settings import BertServiceSettings

MEGABYTE = 1 << 20
RUNTIMES = ("torch", "onnx", "onnx-int8", "torch-int8", "auto")
_POSITIVE = {  # settings, and the options that they are given with
    "workers": "--workers", "batch_tokens": "--max-tokens", "queue_tokens": "--queue-tokens", "body_bytes": "--max-body",
    "text_characters": "--max-characters", "batch_texts": "--max-texts", "new_tokens": "--max-new-tokens", "timeout": "--timeout",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """Limits and choices of one server; each is an option of `plume serve`."""

    host: str = "127.0.0.1"
    port: int = 8000
    runtime: str | None = None  # torch, onnx, onnx-int8, torch-int8, or auto: the fastest that agrees; None: what each model prefers
    threads: int | None = None  # that compute; None: as many as there are cores
    device: str = "cpu"
    workers: int = 1  # processes
    engine: str = "local"  # or ray: Ray Serve
    replicas: tuple[int, int] = (1, 1)  # on Ray: at least, at most
    memory: int | None = None  # bytes of loaded models; None: all stay loaded

    batch_tokens: int = 16384  # of one batch, over all requests in it
    queue_tokens: int = 262144  # that may wait for a model; past that a request is refused at once
    body_bytes: int = 16 * MEGABYTE
    text_characters: int = 1_000_000  # of one text
    batch_texts: int = 2048  # of one request
    new_tokens: int = 2048  # that one text may be asked to have when it is generated
    timeout: float = 60.0  # seconds until an answer begins

    keys: Path | None = None  # file of API keys
    cors: tuple[str, ...] = ()  # origins of pages that may ask
    log_texts: bool = False
    bert: BertServiceSettings | None = None  # bert-as-service on ports of its own

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise PlumeError(f"--threads must be more than 0, not {self.threads}.")
        for name, option in _POSITIVE.items():
            if getattr(self, name) <= 0:
                raise PlumeError(f"{option} must be more than 0, not {getattr(self, name)}.")
        self._check_bert()
        self._check_engine()
        if self.runtime is not None and self.runtime not in RUNTIMES:
            raise PlumeError(f"There is no runtime '{self.runtime}': {suggest(self.runtime, RUNTIMES)}.")
        if not 0 <= self.port < 65536:
            raise PlumeError(f"There is no port {self.port}: choose one from 1 to 65535, or 0 for any that is free.")

    def _check_engine(self) -> None:
        if self.engine not in ("local", "ray"):
            raise PlumeError(f"There is no engine '{self.engine}': choose local or ray.")
        if self.engine == "ray" and self.bert is not None:
            raise PlumeError("bert-as-service has two ports of its own, which Ray Serve does not have: leave out --engine.")
        if self.engine == "local" and self.replicas != (1, 1):
            raise PlumeError("--replicas are Ray's: give --engine ray, or --workers for several processes on this machine.")

    def _check_bert(self) -> None:
        if self.bert is not None and self.workers > 1:
            raise PlumeError(
                "bert-as-service has two ports of its own, so it runs in one process: leave out --workers; --threads sets its cores."
            )
        if self.bert is not None and self.keys is not None:
            raise PlumeError("The clients of bert-as-service cannot send an API key: leave out --api-key-file, or serve them apart.")

    @property
    def computing(self) -> int:
        """Threads of this process that compute: the cores are shared between the processes."""
        return self.threads or max(1, cores() // self.workers)


def replicas_of(said: str) -> tuple[int, int]:
    """--replicas: a number, or the fewest and the most.

    >>> replicas_of("2"), replicas_of("1-8")
    ((2, 2), (1, 8))
    """
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", said)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= least <= most:
        raise PlumeError(f"--replicas {said} is no number of replicas: write 2, or 1-8 for as many as there is work for.")
    return least, most


def in_bytes(said: str, option: str) -> int:
    """A size as people write it.

    >>> in_bytes("2GB", "--memory"), in_bytes("0.5 mb", "--memory"), in_bytes("1000", "--memory")
    (2147483648, 524288, 1000)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", said.strip().upper())
    if found is None:
        raise PlumeError(f"{option} {said} is no size: write 800MB or 2GB.")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2] or " "))
