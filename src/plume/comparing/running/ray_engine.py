"""Cells on the workers of a Ray that is running, on this machine or on many that share the study's directory and files."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

from plume.comparing.cells import Cell
from plume.comparing.running.engine import State
from plume.core.errors import PlumeError
from plume.core.ray_connection import connected, slots


class Ray:
    """As many cells at a time as Ray has CPUs for, each with the threads that the study says."""

    def __init__(self, address: str | None, *, threads: int) -> None:
        ray = connected(address)
        self._ray = ray
        self.slots = slots(ray, threads=threads)
        if not self.slots:
            raise PlumeError(f"No machine of Ray has the {threads} CPUs that a run of this study takes: set --threads.")
        self._running: dict[Future[State], Any] = {}
        # A fresh process for every cell: memory is measured by process, and torch's threads are set once.
        self._remote = ray.remote(num_cpus=threads, max_retries=0, max_calls=1)(_work)

    def submit(self, folder: Path, cell: Cell) -> Future[State]:
        """Hand the cell to Ray."""
        reference = self._remote.remote(str(folder.absolute()), cell)
        future: Future[State] = reference.future()
        self._running[future] = reference
        return future

    def stop(self) -> None:
        """Interrupt them as Ctrl-C would: a run saves itself and ends."""
        for future, reference in list(self._running.items()):
            if not future.done():
                self._ray.cancel(reference, force=False)

    def close(self) -> None:
        """Leave the cluster."""
        self._ray.shutdown()


def _work(folder: str, cell: Cell) -> State:
    from plume.comparing.running.work import run_cell

    return run_cell(Path(folder), cell)
