"""The same application on Ray Serve: replicas on one machine or many, as many as there is work for."""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from plume.core.errors import PlumeError
from plume.core.ray_connection import connected
from plume.serve.models.served import Served
from plume.serve.settings import ServeSettings

_NAME = "plume"


def serve_on_ray(served: Mapping[str, Served], settings: ServeSettings, *, address: str | None = None) -> None:
    """Deploy, and stay until SIGTERM or Ctrl-C; then take it off. Directories must be there for every machine of Ray."""
    least, most = settings.replicas
    ray_serve = _library()
    ray = connected(address)
    own = replace(settings, workers=most, threads=settings.threads or 1)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    ray_serve.start(http_options={"host": settings.host, "port": settings.port, "request_timeout_s": settings.timeout + 5})
    try:
        ray_serve.run(_deployment(ray_serve, served, own), name=_NAME, route_prefix="/")
        print(
            f"plume: serving {', '.join(served)} at http://{settings.host}:{settings.port} on Ray, {least} to {most} replicas",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        ended.wait()
    except RuntimeError as error:
        raise PlumeError(f"Ray Serve could not deploy it: {error}. Its dashboard and 'serve status' say more.") from None
    finally:
        ray_serve.delete(_NAME)
        ray.shutdown()


def _deployment(ray_serve: Any, served: Mapping[str, Served], settings: ServeSettings) -> Any:
    least, most = settings.replicas
    scaling = {"autoscaling_config": {"min_replicas": least, "max_replicas": most}} if most > least else {"num_replicas": most}
    how = {
        "name": _NAME,
        "ray_actor_options": {"num_cpus": settings.threads},
        "max_ongoing_requests": 1024,  # the engine makes batches of what is there, and refuses what is too much
        "graceful_shutdown_timeout_s": settings.timeout + 5,
    }
    return ray_serve.deployment(**how, **scaling)(ray_serve.ingress(_builder(served, settings))()).bind()


def _builder(served: Mapping[str, Served], settings: ServeSettings) -> Callable[[], Any]:
    def build() -> Any:  # runs in each replica
        from plume.serve.http.app import make_app
        from plume.serve.http.logs import log_to_stderr

        def failed(error: PlumeError) -> None:
            raise error

        log_to_stderr()
        return make_app(served, settings, failed=failed)

    return build


def _library() -> Any:
    try:
        return importlib.import_module("ray.serve")
    except ImportError as error:
        what = error.name or "ray"
        raise PlumeError(f"Ray Serve needs {what}, which is not installed: pip install 'ray[serve]', or leave --engine out.") from None
