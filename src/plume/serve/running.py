"""One process of a server, from its start to its end. The one place where uvicorn is imported."""

from __future__ import annotations

import socket
from collections.abc import Mapping

import uvicorn

from plume.core.errors import PlumeError
from plume.serve.http.app import make_app
from plume.serve.http.logs import log_to_stderr
from plume.serve.models.served import Served
from plume.serve.settings import ServeSettings


def run_process(served: Mapping[str, Served], settings: ServeSettings, listening: socket.socket) -> None:
    """Answer what comes to a socket, until a signal; then what was accepted, and end."""
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
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(settings.timeout) + 5,
    )
