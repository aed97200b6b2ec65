"""Cells on the workers of a Ray that is running, on this machine or on many that share the study's directory and files."""

from __future__ import annotations

import importlib
import logging
import socket
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from plume.comparing.cells import Cell
from plume.comparing.running.engine import State
from plume.core import own_parts
from plume.core.errors import PlumeError


class Ray:
    """As many cells at a time as Ray has CPUs for, each with the threads that the study says."""

    def __init__(self, address: str | None, *, threads: int) -> None:
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError:
            raise PlumeError("Ray is not installed: pip install 'plume-lm[ray]', or leave --engine out.") from None
        self._ray = ray
        self._knock(address)
        try:
            told = own_parts.environment()
            runtime = {"runtime_env": {"env_vars": told}} if told else {}
            ray.init(address=address or "auto", logging_level=logging.ERROR, log_to_driver=False, **runtime)
        except ConnectionError as error:
            raise _nobody(address, str(error).splitlines()[0]) from None
        # A run needs all its threads on one machine.
        self.slots = sum(int(node["Resources"].get("CPU", 0)) // threads for node in ray.nodes() if node["Alive"])
        if not self.slots:
            raise PlumeError(f"No machine of Ray has the {threads} CPUs that a run of this study takes: set --threads.")
        self._running: dict[Future[State], Any] = {}
        # A fresh process for every cell: memory is measured by process, and torch's threads are set once.
        self._remote = ray.remote(num_cpus=threads, max_retries=0, max_calls=1)(_work)

    @staticmethod
    def _knock(address: str | None) -> None:
        """Ray itself waits for minutes where nobody answers."""
        host, colon, port = (address or "auto").removeprefix("ray://").rpartition(":")
        if not colon or not port.isdigit():
            return
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except OSError as error:
            raise _nobody(address, str(error)) from None

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


def _nobody(address: str | None, why: str) -> PlumeError:
    return PlumeError(f"No Ray answers at '{address or 'auto'}' ({why}). Start one: ray start --head")


def _work(folder: str, cell: Cell) -> State:
    from plume.comparing.running.work import run_cell

    return run_cell(Path(folder), cell)
