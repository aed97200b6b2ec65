"""Several processes on one port: each is replaced when it dies, and all end together."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from plume.core.errors import PlumeError
from plume.serve.http.logs import log_to_stderr
from plume.serve.meters import forget_process

LOG = logging.getLogger("plume.serve")
_ENDING = (signal.SIGTERM, signal.SIGINT)
_PAUSE = 1.0  # seconds before one is replaced that died as soon as it was started
_REFUSED = 2  # the exit code of an error that starting again cannot mend


def supervise(run: Callable[[], None], count: int) -> None:
    """Fork so many processes that `run`, until SIGTERM or SIGINT, which they get too."""
    log_to_stderr()
    running: dict[int, float] = {}  # by process: when it was started
    ending = False

    def end(number: int, _: FrameType | None) -> None:
        nonlocal ending
        ending = True
        _tell(running, signal.SIGTERM)

    for number in _ENDING:
        signal.signal(number, end)
    refused, started = False, 0
    while True:
        while len(running) < count and not ending:
            signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)  # one that comes now must find the process among those that run
            running[_fork(run)] = time.monotonic()
            started += 1
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        if not running:
            break
        process, status = os.wait()
        begun = running.pop(process, None)
        forget_process(process)
        if ending or begun is None:
            continue
        code = os.waitstatus_to_exitcode(status)
        if code == _REFUSED and started == count:  # none was ever replaced: it cannot be served at all, and has said why
            refused = ending = True
            _tell(running, signal.SIGTERM)
            continue
        LOG.warning("worker died", extra={"said": {"process": process, "code": code}})
        if time.monotonic() - begun < _PAUSE:
            time.sleep(_PAUSE)
    if refused:
        raise SystemExit(_REFUSED)


def _tell(running: dict[int, float], number: int) -> None:
    for process in list(running):
        os.kill(process, number)


def _fork(run: Callable[[], None]) -> int:
    """Nothing was computed yet and no thread was started, so a fork is safe, and shares what was imported."""
    if process := os.fork():
        return process
    code = 0
    try:
        for number in _ENDING:  # until uvicorn listens to them, and again when it has answered all
            signal.signal(number, lambda *_: os._exit(0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        run()
    except PlumeError as error:
        print(f"plume: {error}", file=sys.stderr)
        code = _REFUSED
    except BaseException as error:
        LOG.error("worker failed", exc_info=error)
        code = 1
    finally:
        os._exit(code)
