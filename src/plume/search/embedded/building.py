"""What faiss searches is built from the file of vectors: when there is none, when many have come since, when it has outgrown its training."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plume.search.backend import Vectors
from plume.search.embedded import ann
from plume.search.embedded.choosing import choose, measured_effort, table
from plume.search.embedded.database import Committed
from plume.search.embedded.raw_vectors import RawVectors
from plume.search.settings import IndexSettings

SMALL = 20_000  # vectors up to which comparing with all of them is fast enough
_TAIL, _SHARE = 10_000, 0.05  # that have come since, and are compared one by one meanwhile
_OUTGROWN = 4  # times as many as it was trained on
AUTO = "auto"


class Built(NamedTuple):
    """The state that names the new file, and what to tell the user."""

    state: Committed | None
    said: str | None


def build(folder: Path, settings: IndexSettings, state: Committed) -> Built:
    """The file is written before the state that names it is committed."""
    assert settings.dimension is not None
    raw = RawVectors(folder / state.vectors, settings.dimension)
    rows = state.rows
    string = ann.factory(settings.type, dimension=settings.dimension, rows=rows)
    if (
        string == ann.FLAT
        or (settings.type == AUTO and rows <= SMALL)
        or rows - state.built <= (state.built and max(_TAIL, _SHARE * state.built))
    ):
        return Built(None, None)
    if state.ann is not None and rows <= _OUTGROWN * state.trained:
        return Built(_extended(folder, raw, state), None)
    said, measured = None, state.measured
    if settings.type == AUTO:
        tried = choose(sample(raw, rows, 30_000), settings.metric, settings.recall, rows=rows)
        said, measured = table(tried), tuple(one.as_json() for one in tried)
        string = ann.factory(next(one.type for one in tried if one.chosen), dimension=settings.dimension, rows=rows)
        if string == ann.FLAT:
            return Built(replace(state, ann=None, type=None, built=0, trained=rows, measured=measured), said)
    if rows < ann.least(string):
        return Built(None, f"{string} needs at least {ann.least(string):,} vectors; until then all {rows:,} are compared one by one.")
    index = ann.declared(string, settings.dimension, settings.metric)
    ann.fill(index, sample(raw, rows, ann.sampled(index, string, rows)), (block for _, block in raw.blocks(0, rows)))
    effort = measured_effort(index, string, raw.mapped(rows), settings)
    return Built(_saved(folder, index, replace(state, type=string, trained=rows, built=rows, effort=effort, measured=measured)), said)


def _extended(folder: Path, raw: RawVectors, state: Committed) -> Committed:
    assert state.ann is not None
    index = ann.load(folder / state.ann, mapped=False)
    ann.fill(index, np.zeros((0, raw.dimension), np.float32), (block for _, block in raw.blocks(state.built, state.rows)))
    return _saved(folder, index, replace(state, built=state.rows))


def _saved(folder: Path, index: Any, state: Committed) -> Committed:
    name = f"ann-{state.generation}-{state.rows}-{state.commits}.faiss"
    ann.save(index, folder / name)
    return replace(state, ann=name, checksum=file_checksum(folder / name))


def file_checksum(path: Path) -> int:
    """Of the whole file, block by block."""
    found = 0
    with path.open("rb") as handle:
        while block := handle.read(1 << 24):
            found = zlib.crc32(block, found)
    return found


def sample(raw: RawVectors, rows: int, count: int) -> Vectors:
    """So many, drawn at random, in their order: always the same ones."""
    vectors = raw.mapped(rows)
    if count >= rows:
        return np.array(vectors)
    return np.array(vectors[np.sort(np.random.default_rng(rows).choice(rows, count, replace=False))])
