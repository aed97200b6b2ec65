"""Batches side by side: on a CPU one thread for each is faster than all threads for one, which would wait for each other after every product."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Given = TypeVar("Given")
Made = TypeVar("Made")


def side_by_side(work: Callable[[Given], Made], given: Iterable[Given], *, device: torch.device) -> Iterator[Made]:
    """What `work` makes of each, in their order, on as many threads as torch has. A result does not depend on how many these are."""
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads < 2:
        yield from map(work, given)
        return
    listed = list(given)
    with _one_thread_each(min(threads, len(listed) or 1)) as pool:
        yield from pool.map(work, listed)


@contextmanager
def _one_thread_each(workers: int) -> Iterator[ThreadPoolExecutor]:
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(workers, initializer=lambda: torch.set_num_threads(1)) as pool:
            yield pool
    finally:
        torch.set_num_threads(threads)  # a part of what was set is the process's
