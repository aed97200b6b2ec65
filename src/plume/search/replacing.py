"""An index in the place of another, or of none: made beside the old one, which nobody may write to meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plume.core.errors import PlumeError
from plume.core.files import clear_disk_errors
from plume.search.backends import drop_backend, elsewhere
from plume.search.settings import IndexSettings, hidden, writer_lock


@contextmanager
def replacing(folder: Path, url: str) -> Iterator[Path]:
    """Where to make the new index; if that goes well, it takes the place of the one in `folder`. `url` is the server that knows both, if any."""
    whole = folder.resolve()  # what a link names is replaced, not the link
    if Path.cwd().is_relative_to(whole):
        raise PlumeError(
            f"{folder} is the directory you are in, which would be gone: change to the one above it, and call it {whole.name}."
        )
    with writer_lock(folder):
        fresh = beside(whole, url)
        yield fresh
        _put_in_place(fresh, whole, url)


def beside(folder: Path, url: str) -> Path:
    """Where a new index is made before it replaces one; what an interrupted attempt left there, and on the server at `url`, is removed."""
    fresh = hidden(folder, "new")
    drop_backend(fresh, url)
    shutil.rmtree(fresh, ignore_errors=True)
    return fresh


def _put_in_place(fresh: Path, folder: Path, url: str) -> None:
    """The old index is moved aside first and removed last."""
    old = hidden(folder, "old")  # should the second rename not come, whoever opens the index puts it back
    shutil.rmtree(old, ignore_errors=True)
    with clear_disk_errors(folder):
        folder.rename(old)
    fresh.rename(folder)
    drop_backend(old, url)
    shutil.rmtree(old, ignore_errors=True)


def drop(folder: Path, url: str | None = None) -> None:
    """Delete an index: what it has on a server, its folder, and the link that names it, if that is how it was given."""
    settings = elsewhere(folder, IndexSettings.load(folder), url)
    with writer_lock(folder):
        drop_backend(folder, settings.backend)
        with clear_disk_errors(folder):
            shutil.rmtree(folder.resolve())
            if folder.is_symlink():
                folder.unlink()
