"""A server from its start to its end: sockets, signals, processes. The one place where uvicorn is imported."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping

import uvicorn

from plume.core.errors import PlumeError
from plume.serve.http.app import make_app
from plume.serve.http.logs import log_to_stderr
from plume.serve.models.served import Served
from plume.serve.settings import ServeSettings


def serve(served: Mapping[str, Served], settings: ServeSettings) -> None:
    """Until SIGTERM or Ctrl-C; what was accepted is answered first."""
    listening = _listen(settings)
    print(f"plume: {', '.join(served)} on {_address(listening)}, endpoints at {_address(listening)}/docs", file=sys.stderr, flush=True)
    run_process(served, settings, listening)


def run_process(served: Mapping[str, Served], settings: ServeSettings, listening: socket.socket) -> None:
    """One process on a socket."""
    log_to_stderr()
    failures: list[PlumeError] = []

    def failed(error: PlumeError) -> None:
        failures.append(error)
        server.should_exit = True

    server = uvicorn.Server(_config(make_app(served, settings, failed=failed), settings))
    server.run(sockets=[listening])
    if failures:
        raise failures[0]


def _config(app: object, settings: ServeSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        loop="uvloop",
        http="httptools",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(settings.timeout) + 5,
    )


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
