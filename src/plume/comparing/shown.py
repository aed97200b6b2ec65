"""Paths as a user would type them."""

from __future__ import annotations

import os
from pathlib import Path


def shown(path: str | Path) -> str:
    """From where the study was run; what lies elsewhere keeps its whole path."""
    near = os.path.relpath(path)
    return os.path.abspath(path) if near.startswith(os.path.join(os.pardir, os.pardir)) else near
