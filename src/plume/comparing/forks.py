"""Processes forked off a server that has imported everything and computed nothing: they begin in milliseconds."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from typing import Any

# What cells would else import each for itself, seconds every time.
_IMPORTS = [
    "plume.comparing.server_signals",
    "plume.comparing.running.work",
    "torch._dynamo",
    "scipy.stats",
    "sklearn.linear_model",
    "sklearn.metrics",
    "seqeval.metrics",
]

_starting = threading.Lock()


def fork_server() -> ForkServerContext:
    """The server begins its imports at once, beside whatever this process does next."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTS)
    forkserver.ensure_running()
    return context


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
