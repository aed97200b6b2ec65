"""The engine that a user names."""

from __future__ import annotations

from plume.comparing.running.engine import Engine, Local
from plume.core.errors import PlumeError
from plume.core.machine import runs_at_once
from plume.train.device import choose_device


def make_engine(name: str, address: str | None = None, *, threads: int = 1) -> Engine:
    """`local`, or `ray` with the address of one that is running. Each takes as many cells at a time as there are cores for; a GPU takes one."""
    if name == "local":
        if address is not None:
            raise PlumeError("--address is of a Ray that is running: add --engine ray.")
        return Local(runs_at_once(threads) if choose_device().type == "cpu" else 1)
    if name == "ray":
        from plume.comparing.running.ray_engine import Ray

        return Ray(address, threads=threads)
    raise PlumeError(f"There is no engine '{name}': choose local or ray.")
