"""Cells on the workers of a Ray that is running, on this machine or on many that share the study's directory and files."""

from __future__ import annotations

import importlib
import logging
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from plume.comparing.grid import Cell
from plume.core.errors import PlumeError


class Ray:
    """As many cells at a time as Ray has CPUs for, each with the threads that the study says."""

    def __init__(self, address: str | None) -> None:
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError:
            raise PlumeError("Ray is not installed: pip install 'plume-lm[ray]', or leave --engine out.") from None
        self._ray = ray
        try:
            ray.init(address=address or "auto", logging_level=logging.ERROR, log_to_driver=False)
        except ConnectionError as error:
            raise PlumeError(
                f"No Ray answers at '{address or 'auto'}' ({str(error).splitlines()[0]}). Start one: ray start --head"
            ) from None
        self.slots = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self._running: dict[Future[None], Any] = {}
        # A fresh process for every cell: memory is measured by process, and torch's threads are set once.
        self._remote = ray.remote(num_cpus=1, max_retries=0, max_calls=1)(_work)

    def submit(self, folder: Path, cell: Cell) -> Future[None]:
        reference = self._remote.remote(str(folder.absolute()), cell)
        future: Future[None] = reference.future()
        self._running[future] = reference
        return future

    def stop(self) -> None:
        """Interrupt them as Ctrl-C would: a run saves itself and ends."""
        for future, reference in list(self._running.items()):
            if not future.done():
                self._ray.cancel(reference, force=False)

    def close(self) -> None:
        self._ray.shutdown()


def _work(folder: str, cell: Cell) -> None:
    from plume.comparing.work import run_cell

    run_cell(Path(folder), cell)
