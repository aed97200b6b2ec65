"""A file for each group of endpoints, which has a `ROUTER`. The folder is the registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

Endpoint = Callable[[Request], Awaitable[Response]]


def routers() -> list[APIRouter]:
    """Of all files here."""
    return [module.ROUTER for module in _modules()]


def quick() -> dict[tuple[str, str], Endpoint]:
    """Endpoints that a file also names as `QUICK`, by method and path: they take a request and need nothing else of FastAPI's, so the gate
    calls them itself, which saves a tenth of a millisecond."""
    return {key: endpoint for module in _modules() for key, endpoint in getattr(module, "QUICK", {}).items()}


def _modules() -> list[ModuleType]:
    return [import_module(f"{__name__}.{path.stem}") for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))]
