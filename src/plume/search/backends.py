"""Which backend a URL means; each is one file, imported when it is named."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError, suggest
from plume.search.backend import Backend
from plume.search.settings import EMBEDDED, IndexSettings

# The scheme of --backend, and where the class is.
_BACKENDS = {EMBEDDED: "plume.search.embedded.store:EmbeddedStore"}


def create_backend(folder: Path, settings: IndexSettings) -> Backend:
    """An empty one; `folder` is the index's, which holds index.json whatever the backend."""
    return _class(settings.backend).create(folder, settings)


def open_backend(folder: Path, settings: IndexSettings) -> Backend:
    """What `create_backend` made."""
    return _class(settings.backend).open(folder, settings)


def _class(url: str) -> Any:
    scheme = url.partition("://")[0]
    if scheme not in _BACKENDS:
        raise PlumeError(f"There is no backend '{scheme}': {suggest(scheme, _BACKENDS)}.")
    module, _, name = _BACKENDS[scheme].partition(":")
    return getattr(importlib.import_module(module), name)
