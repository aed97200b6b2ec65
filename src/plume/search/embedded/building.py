"""What faiss searches is built from the file of vectors: when there is none, when many have come since, when it has outgrown its training."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plume.search.backend import Vectors
from plume.search.embedded import ann, types
from plume.search.embedded.choosing import choose, fitting, is_enough, measured_effort, table
from plume.search.embedded.database import Committed
from plume.search.embedded.raw_vectors import RawVectors
from plume.search.settings import IndexSettings

SMALL = 20_000  # vectors up to which comparing with all of them is fast enough
_TAIL, _SHARE = 10_000, 0.05  # that have come since, and are compared one by one meanwhile
_OUTGROWN = 4  # times as many as it was trained on
_SAMPLE = 30_000
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
    string = types.factory(settings.type, dimension=settings.dimension, rows=rows)
    if (
        string == types.FLAT
        or (settings.type == AUTO and rows <= SMALL)
        or rows - state.built <= (state.built and max(_TAIL, _SHARE * state.built))
    ):
        return Built(None, None)
    if state.ann is not None and rows <= _OUTGROWN * state.trained:
        return Built(_extended(folder, raw, state), None)
    if settings.type == AUTO:
        if state.trained and rows <= _OUTGROWN * state.trained:  # that comparing with all is best was measured
            return Built(None, None)
        return _chosen(folder, settings, raw, state)
    if rows < types.least(string):
        return Built(None, f"{string} needs at least {types.least(string):,} vectors; until then all {rows:,} are compared one by one.")
    return Built(_trained(folder, settings, raw, state, string)[0], None)


def _chosen(folder: Path, settings: IndexSettings, raw: RawVectors, state: Committed) -> Built:
    """The best of a sample, if it does as well on all vectors, among which more are alike; else the next."""
    tried = choose(sample(raw, state.rows, _SAMPLE), settings.metric, settings.recall, rows=state.rows)
    said, state = [table(tried)], replace(state, measured=tuple(one.as_json() for one in tried))
    for one in fitting(tried, settings.recall):
        string = types.factory(one.type, dimension=raw.dimension, rows=state.rows)
        if string == types.FLAT:
            break
        made, reached = _trained(folder, settings, raw, state, string)
        if is_enough(reached, settings):
            return Built(made, "\n".join([*said, f"{string}: recall@10 {reached:.3f} on all {state.rows:,} vectors"]))
        said.append(f"{string}: recall@10 {reached:.3f} on all {state.rows:,} vectors, which is too little")
    flat = replace(state, ann=None, type=None, built=0, trained=state.rows)
    return Built(flat, "\n".join([*said, "All vectors are compared one by one."]))


def _trained(folder: Path, settings: IndexSettings, raw: RawVectors, state: Committed, string: str) -> tuple[Committed, float]:
    rows = state.rows
    index = ann.declared(string, raw.dimension, settings.metric)
    ann.fill(index, sample(raw, rows, ann.sampled(index, string, rows)), (block for _, block in raw.blocks(0, rows)))
    effort, reached = measured_effort(index, string, raw.mapped(rows), settings)
    new = replace(state, type=string, trained=rows, built=rows, effort=effort.look, refined=effort.refined)
    return _saved(folder, index, new), reached


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
