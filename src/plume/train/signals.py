"""Being told to stop, in the middle of a run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


@contextmanager
def watched_signals() -> Iterator[list[str]]:
    """Ctrl-C and SIGTERM are noted, and the loop ends after the step. A Ctrl-C after that ends at once; SIGTERM may come again from whoever
    manages the processes, and changes nothing."""
    caught: list[str] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if caught and number == signal.SIGINT:
            raise KeyboardInterrupt
        caught.append(signal.Signals(number).name)

    if threading.current_thread() is not threading.main_thread():
        yield caught  # signals belong to the main thread: a caller there handles them
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def raise_if_stopped(stopped_by: str | None, folder: str | Path) -> None:
    """For who called from Python: a model that was stopped on the way is not what was asked for."""
    if stopped_by is not None:
        raise KeyboardInterrupt(f"stopped by {stopped_by}, and saved: {folder} can be resumed")
