"""A Ray that is running, on this machine or on many: the one place where it is imported."""

from __future__ import annotations

import importlib
import logging
import socket
from typing import Any

from plume.core import own_parts
from plume.core.errors import PlumeError


def connected(address: str | None) -> Any:
    """The library `ray`, connected to the one at `address`, or to that of this machine."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise PlumeError("Ray is not installed: pip install 'plume-lm[ray]', or leave --engine out.") from None
    _knock(address)
    try:
        told = own_parts.environment()
        runtime = {"runtime_env": {"env_vars": told}} if told else {}
        ray.init(address=address or "auto", logging_level=logging.ERROR, log_to_driver=False, **runtime)
    except ConnectionError as error:
        raise _nobody(address, str(error).splitlines()[0]) from None
    return ray


def slots(ray: Any, *, threads: int) -> int:
    """How many pieces of work with so many threads it does at a time; each needs all its threads on one machine."""
    return sum(int(node["Resources"].get("CPU", 0)) // threads for node in ray.nodes() if node["Alive"])


def _knock(address: str | None) -> None:
    """Ray itself waits for minutes where nobody answers."""
    host, colon, port = (address or "auto").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise _nobody(address, str(error)) from None


def _nobody(address: str | None, why: str) -> PlumeError:
    return PlumeError(f"No Ray answers at '{address or 'auto'}' ({why}). Start one: ray start --head")
