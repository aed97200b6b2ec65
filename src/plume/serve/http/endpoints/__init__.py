"""A file for each group of endpoints, which has a `ROUTER`. The folder is the registry."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from fastapi import APIRouter


def routers() -> list[APIRouter]:
    """Of all files here."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return [import_module(f"{__name__}.{name}").ROUTER for name in names]
