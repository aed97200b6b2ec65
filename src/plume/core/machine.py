"""What of the machine this process may use."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
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


def processor() -> str:
    """Its name, where the system tells."""
    if sys.platform == "darwin":
        asked = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False)
        return asked.stdout.strip() or platform.machine()
    return _told("model name") or platform.processor() or platform.machine()


def instructions() -> tuple[str, ...]:
    """Of those that products of small numbers are fast by, the ones that the processor has; empty also where the system does not tell.

    8-bit weights gain most from VNNI and AMX, and from either of them more than from the AVX that all have.
    """
    flags = _told("flags").split()
    has = {
        "AVX2": "avx2" in flags,
        "AVX-512": "avx512f" in flags,
        "VNNI": any(flag in flags for flag in ("avx512_vnni", "avx_vnni")),
        "AMX": "amx_int8" in flags,
    }
    return tuple(name for name, there in has.items() if there)


def _told(field: str) -> str:
    """What Linux says of the first processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")
