"""What of the machine this process may use."""

from __future__ import annotations

import os
import time
from pathlib import Path


def cores() -> int:
    """That this process may use: it may be bound to some, and a container may be given fewer than it sees."""
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
        return max(1, min(seen, int(quota) // int(period)))
    except (OSError, ValueError):  # no such account, or "max"
        return seen


def runs_at_once(threads: int) -> int:
    """How many runs of so many threads the cores hold side by side, and one at least."""
    return max(cores() // threads, 1)


def seconds_had_and_waited() -> tuple[float, float]:
    """Of this thread so far: on a core, and ready for one while something else had it. Where the system does not tell: it never waited."""
    try:
        had, waited, *_ = Path("/proc/thread-self/schedstat").read_text(encoding="utf-8").split()
        return int(had) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return time.thread_time(), 0.0
