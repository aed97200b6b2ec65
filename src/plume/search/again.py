"""An index with the vectors of another model: written beside the old one, which it replaces when it is complete."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from plume.core.files import locked
from plume.search.adding import CHUNK, checked
from plume.search.backend import Backend, StoredPassage
from plume.search.backends import addressed, create_backend, drop_backend
from plume.search.models import Model, fingerprint_of, load_embedder
from plume.search.settings import LOCK, IndexSettings, hidden


def embed_again(folder: Path, settings: IndexSettings, backend: Backend, model: Model, shown: Callable[[int], None]) -> str | None:
    """The passages stay; what was built, in words. `backend` is closed by it."""
    with locked(folder / LOCK, f"Another process is writing to {folder}: wait for it, then try again."):
        return _embed_again(folder, settings, backend, model, shown)


def _embed_again(folder: Path, settings: IndexSettings, backend: Backend, model: Model, shown: Callable[[int], None]) -> str | None:
    embedder = load_embedder(model)
    new = addressed(folder, replace(settings, dimension=embedder.width, model=fingerprint_of(model, embedder)))
    fresh = beside(folder, settings.backend)
    fresh.mkdir(parents=True)
    new.save(fresh)
    target = create_backend(fresh, new)
    target.declare(backend.columns)
    done = 0
    for passages in _documents(backend):
        names = [f"Document '{one.document}'" for one in passages]
        target.add(passages, checked(embedder.embed([one.text for one in passages]), new, names.__getitem__))
        target.commit()
        shown(done := done + len(passages))
    target.commit()
    said = target.prepare()
    target.close()
    backend.close()
    put_in_place(fresh, folder, settings.backend)
    return said


def beside(folder: Path, url: str) -> Path:
    """Where a new index is made before it replaces one; what an interrupted attempt left there, and on the server at `url`, is removed."""
    fresh = hidden(folder, "new")
    drop_backend(fresh, url)
    shutil.rmtree(fresh, ignore_errors=True)
    return fresh


def put_in_place(fresh: Path, folder: Path, url: str) -> None:
    """The new index in the place of the old, which is moved aside first and removed last."""
    old = hidden(folder, "old")  # should the second rename not come, whoever opens the index puts it back
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)
    fresh.rename(folder)
    drop_backend(old, url)
    shutil.rmtree(old, ignore_errors=True)


def _documents(backend: Backend) -> Iterator[list[StoredPassage]]:
    """Some thousand passages at a time, of whole documents."""
    held: list[StoredPassage] = []
    for passage in backend.passages():
        if len(held) >= CHUNK and passage.number == 0:
            yield held
            held = []
        held.append(passage)
    if held:
        yield held
