"""Where cells are run: here, each in a process of its own."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from plume.comparing.cells import Cell
from plume.comparing.forks import fork_server, hear_signals, hidden_main

State = dict[str, Any] | None


class Engine(Protocol):
    """`submit` returns at once; the future is done when the cell's process has ended. What it left on disk says how; an engine whose workers are
    elsewhere hands the same over as the future's result, because a shared disk may be slow to show it."""

    slots: int  # cells at a time

    def submit(self, folder: Path, cell: Cell) -> Future[State]:
        """Run the cell of the study in `folder`."""

    def stop(self) -> None:
        """Tell running cells, once, to save themselves and end."""

    def close(self) -> None:
        """Wait for what runs, and take no more."""


class Local:
    """A process for each cell: what one does to memory, threads or itself is gone with it."""

    def __init__(self, slots: int = 1) -> None:
        self.slots = slots
        self._context = fork_server()
        self._pool = ThreadPoolExecutor(slots)
        self._running: set[BaseProcess] = set()
        self._stopping = False

    def submit(self, folder: Path, cell: Cell) -> Future[State]:
        """Wait for a free slot, then start a process."""
        return self._pool.submit(self._run, folder, cell)

    def _run(self, folder: Path, cell: Cell) -> None:
        alive, theirs = self._context.Pipe()
        process = self._context.Process(target=_child, args=(theirs, folder, cell))
        with hidden_main():
            process.start()
        theirs.close()
        self._running.add(process)
        if self._stopping:  # told before it was known
            process.terminate()
        process.join()
        self._running.remove(process)
        alive.close()
        if process.exitcode:
            raise ChildProcessError(_ended(process.exitcode))

    def stop(self) -> None:
        """Tell running cells, once, to save themselves and end."""
        self._stopping = True
        for process in tuple(self._running):
            process.terminate()  # SIGTERM: the run saves itself and ends

    def close(self) -> None:
        """Wait for what runs; what has not begun is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _child(alive: Connection, folder: Path, cell: Cell) -> None:
    from plume.comparing.running.work import run_cell

    os.setpgrp()  # Ctrl-C is for the study, which tells its cells: a second signal would end a run without saving it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # drops one that came before
    hear_signals()
    threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
    run_cell(folder, cell)


def _end_with_parent(alive: Connection) -> None:
    """When the process that started us is gone, so are we: two must never work on one cell."""
    try:
        alive.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)


def _ended(code: int) -> str:
    if code > 0:
        return f"the process ended with exit code {code}"
    why = ": it may have run out of memory" if code == -9 else ""
    return f"the process was ended by signal {-code}{why}"
