"""Processes forked off the server."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection

from plume.comparing.forks import fork_server, hear_signals, hidden_main


def report_then_hear(pipe: Connection) -> None:
    pipe.send(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    pipe.recv()  # the signal has been sent
    pipe.send("still here")
    hear_signals()


def test_a_signal_waits_until_a_fork_is_ready_for_it() -> None:
    """A signal to the whole group must neither end a fork that is being born, with a traceback, nor be lost."""
    context = fork_server()
    ours, theirs = context.Pipe()
    process = context.Process(target=report_then_hear, args=(theirs,))
    with hidden_main():
        process.start()
    assert {signal.SIGINT, signal.SIGTERM} <= ours.recv()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    ours.send("sent")
    assert ours.recv() == "still here"
    process.join()
    assert process.exitcode == -signal.SIGTERM
    assert not {signal.SIGINT, signal.SIGTERM} & signal.pthread_sigmask(signal.SIG_BLOCK, ()), "this process hears as before"
