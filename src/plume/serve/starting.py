"""From settings to a listening server: one process, or several on one port."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping

from plume.core.errors import PlumeError
from plume.serve.models.served import Served
from plume.serve.settings import ServeSettings

_NUMBERS = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client looks at it when it is imported


def serve(served: Mapping[str, Served], settings: ServeSettings) -> None:
    """Until SIGTERM or Ctrl-C; what was accepted is answered first."""
    with _listen(settings) as listening, tempfile.TemporaryDirectory(prefix="plume-serve-") as numbers:
        if settings.workers > 1:
            os.environ[_NUMBERS] = numbers
        else:
            os.environ.pop(_NUMBERS, None)
        try:
            from plume.serve.running import run_process
            from plume.serve.supervising import supervise
        except ModuleNotFoundError as error:
            if (error.name or "plume").startswith("plume"):
                raise
            raise PlumeError(f"{error.name} is not installed: pip install 'plume-lm[serve]'.") from None
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn repeats them when all is answered: that is the end, not a failure
            signal.signal(number, lambda *_: sys.exit(0))
        address = _address(listening)
        print(f"plume: serving {', '.join(served)} at {address}; endpoints: {address}/docs", file=sys.stderr, flush=True)
        if settings.workers == 1:
            run_process(served, settings, listening)
        else:
            supervise(lambda: run_process(served, settings, listening), settings.workers)


def _listen(settings: ServeSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise PlumeError(f"Port {settings.port} of {settings.host} cannot be used: {error.strerror}. Choose another with --port.") from None
    listening.listen(2048)
    return listening


def _address(listening: socket.socket) -> str:
    host, port, *_ = listening.getsockname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
