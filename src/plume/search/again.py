"""An index with the vectors of another model: written beside the old one, which it replaces when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from plume.search.adding import CHUNK, checked
from plume.search.backend import Backend, StoredPassage
from plume.search.backends import addressed, create_backend
from plume.search.models import Model, fingerprint_of, load_embedder
from plume.search.replacing import replacing
from plume.search.settings import IndexSettings


def embed_again(folder: Path, settings: IndexSettings, backend: Backend, model: Model, shown: Callable[[int], None]) -> str | None:
    """The passages stay; what was built, in words. `backend` is closed by it."""
    embedder = load_embedder(model)
    new = addressed(folder, replace(settings, dimension=embedder.width, model=fingerprint_of(model, embedder)))
    with replacing(folder, settings.backend) as fresh:
        fresh.mkdir(parents=True)
        new.save(fresh)
        target = create_backend(fresh, new)
        target.declare(backend.columns)
        done = 0
        for passages in _documents(backend):
            names = [f"Document '{one.document}'" for one in passages]
            target.add(passages, checked(embedder.embed([new.embedded_text(one) for one in passages]), new, names.__getitem__))
            target.commit()
            shown(done := done + len(passages))
        target.commit()
        said = target.prepare()
        target.close()
        backend.close()
    return said


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
