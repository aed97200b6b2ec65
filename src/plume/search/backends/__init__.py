"""The backends: one file each, named like the scheme of its URL, imported when it is named, that ends with BACKEND = …

An embedded one keeps all in the index's folder. Of the others only index.json is there, with their address and the index's name on the server.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError, suggest
from plume.core.files import removed_if_refused
from plume.search.address import new_name, scheme_of, without_password
from plume.search.backend import Backend
from plume.search.settings import EMBEDDED, FILE, IndexSettings


def addressed(folder: Path, settings: IndexSettings) -> IndexSettings:
    """The settings of a new index; on a server it gets a name of its own."""
    if settings.backend == EMBEDDED:
        return settings
    return replace(settings, backend=_class(settings.backend).address(settings.backend), extra={"name": new_name(folder)})


def create_backend(folder: Path, settings: IndexSettings) -> Backend:
    """An empty one; `folder` is the index's, which holds index.json whatever the backend."""
    return _class(settings.backend).create(folder, settings)


def open_backend(folder: Path, settings: IndexSettings) -> Backend:
    """What `create_backend` made."""
    return _class(settings.backend).open(folder, settings)


def elsewhere(folder: Path, settings: IndexSettings, url: str | None) -> IndexSettings:
    """With the address that was given at use: with a password, or because the server has moved."""
    if url is None:
        return settings
    if scheme_of(url) != scheme_of(settings.backend):
        raise PlumeError(f"{folder} is kept by {without_password(settings.backend)}: --backend {without_password(url)} is of another kind.")
    return settings if url == EMBEDDED else replace(settings, backend=_class(url).address(url))


def drop_backend(folder: Path, url: str = EMBEDDED) -> None:
    """What an index has on a server, before its folder is removed; of an embedded one nothing is anywhere else. `url` may know its password."""
    settings = IndexSettings.load(folder) if (folder / FILE).exists() else None
    if settings is not None and settings.backend != EMBEDDED:
        if scheme_of(url) == scheme_of(settings.backend) and without_password(_class(url).address(url)) == settings.backend:
            settings = replace(settings, backend=_class(url).address(url))
        _class(settings.backend).drop(folder, settings)


@contextmanager
def made_whole(folder: Path, url: str) -> Iterator[None]:
    """A new index in this folder, or, if it is refused, nothing: not on a server either. What was there before is left alone."""
    there = folder.exists()
    with removed_if_refused(folder, unless=lambda: there):
        try:
            yield
        except PlumeError:
            if not there:
                drop_backend(folder, url)
            raise


def _class(url: str) -> Any:
    scheme = scheme_of(url)
    known = sorted(one.stem for one in Path(__file__).parent.glob("[a-z]*.py"))
    if scheme not in known:
        raise PlumeError(f"There is no backend '{scheme}': {suggest(scheme, known)}.")
    return importlib.import_module(f"{__name__}.{scheme}").BACKEND
