"""Processes forked off a server that has imported everything and computed nothing: they begin in milliseconds."""

from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext

# What cells would else import each for itself, seconds every time.
_IMPORTS = ["plume.comparing.work", "torch._dynamo", "scipy.stats", "sklearn.linear_model", "sklearn.metrics", "seqeval.metrics"]


def fork_server() -> ForkServerContext:
    """The server begins its imports at once, beside whatever this process does next."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTS)
    forkserver.ensure_running()
    return context
