"""Processes forked off a server that has imported everything and computed nothing: they begin in milliseconds."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext
from typing import Any

# What cells would else import each for itself, seconds every time.
_IMPORTS = [
    "plume.comparing.running.work",
    "torch._dynamo",
    "scipy.stats",
    "sklearn.linear_model",
    "sklearn.metrics",
    "seqeval.metrics",
]

_HELD_BACK = (signal.SIGINT, signal.SIGTERM)

_starting = threading.Lock()


def fork_server() -> ForkServerContext:
    """The server begins its imports at once, beside whatever this process does next.

    A signal to all processes at once, as a terminal or a scheduler sends it, must not take the server from the runs, nor hit a fork before it
    knows what to do: both are born with signals held back, and a fork lets them in by `hear_signals`.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTS)
    resource_tracker.ensure_running()  # which would let the signals in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def hear_signals() -> None:
    """Called in a fork, when it is ready to be ended; what came before counts."""
    for number in _HELD_BACK:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD_BACK)


@contextmanager
def hidden_main() -> Iterator[None]:
    """While processes are started: they would run the user's script again, which began this study, and need nothing of it."""
    main = sys.modules["__main__"]
    with _starting:  # one at a time, or one would show what another hides
        kept: dict[str, Any] = {name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__}
        main.__spec__ = None
        try:
            yield
        finally:
            main.__dict__.update(kept)
