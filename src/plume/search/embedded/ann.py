"""faiss: the only file that imports it. An index of a type is built from a file of vectors, saved and loaded; and vectors are compared."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.search.backend import Vectors
from plume.search.embedded import types
from plume.search.settings import Metric

Keys = NDArray[np.int64]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
_MAPPED = 256 << 20  # bytes from which on a file is mapped
_GATHERED = 1 << 25  # bytes of vectors that are compared at once
_TRAINED_ON = 64  # vectors a centroid


@cache
def faiss_module() -> Any:
    """faiss, or what to install."""
    try:
        import faiss
    except ImportError:
        raise PlumeError("Searching by vectors needs faiss: pip install 'plume-lm[search]', or leave vectors out (--no-vectors).") from None
    return faiss


def declared(string: str, dimension: int, metric: Metric) -> Any:
    """An empty index of that type, which is refused if it cannot be made or searched."""
    faiss = faiss_module()
    types.check(string)
    measure = faiss.METRIC_L2 if metric is Metric.DISTANCE or types.counts_bits(string) else faiss.METRIC_INNER_PRODUCT
    try:
        made = faiss.index_factory(dimension, types.coarse(string)[0], measure)
    except RuntimeError as error:
        why = str(error).rsplit(": ", 1)[-1].strip().splitlines()[0]
        raise PlumeError(f"--type {string} is no index that faiss can make for {dimension} dimensions ({why}): {types.POSSIBLE}.") from None
    _moderate(made)
    return made


def sampled(index: Any, string: str, rows: int) -> int:
    """How many vectors it is trained on, of so many."""
    return 0 if index.is_trained else min(rows, max(1_000, types.least(string)) * _TRAINED_ON)


def fill(index: Any, sample: Vectors, blocks: Iterable[Vectors]) -> None:
    """Train on the sample, then add all."""
    try:
        if not index.is_trained:
            index.train(np.ascontiguousarray(sample))
        for block in blocks:
            index.add(np.ascontiguousarray(block))
    except RuntimeError as error:
        raise PlumeError(f"faiss cannot build this type from {len(sample):,} vectors: {str(error).strip().splitlines()[-1]}") from None


def save(index: Any, path: Path) -> None:
    """Under a temporary name, then renamed."""
    write_atomic(path, lambda target: _write(index, target))


def _write(index: Any, path: Path) -> None:
    try:
        faiss_module().write_index(index, str(path))
    except RuntimeError as error:
        raise (
            OSError(28, "No space left on device", str(path)) if "write error" in str(error) or "fwrite" in str(error) else error
        ) from None


def load(path: Path, *, mapped: bool | None = None) -> Any:
    """Mapped into memory if it is large, so that opening costs nothing; a small one is read, as the first visit to a mapped page is slow."""
    faiss = faiss_module()
    if mapped is None:
        mapped = path.stat().st_size > _MAPPED  # a file that is gone is the caller's to know
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC) if mapped else faiss.read_index(str(path))
    except RuntimeError as error:
        raise PlumeError(f"{path} cannot be read ({str(error).strip().splitlines()[-1]}): 'plume index compact' builds it again.") from None
    _moderate(index)
    return index


def size(index: Any) -> int:
    """Vectors in it."""
    return int(index.ntotal)


def flat(queries: Vectors, rows: Vectors, *, top: int, metric: Metric) -> tuple[Floats, Keys]:
    """All compared with all, by faiss' own kernel, on the mapped file itself."""
    faiss = faiss_module()
    if not len(rows) or not top:
        return np.zeros((len(queries), 0), np.float32), np.zeros((len(queries), 0), np.int64)
    distance = metric is Metric.DISTANCE
    measure = faiss.METRIC_L2 if distance else faiss.METRIC_INNER_PRODUCT
    scores, keys = faiss.knn(np.ascontiguousarray(queries), rows, min(top, len(rows)), metric=measure)
    return (-scores if distance else scores), keys


def innermost(index: Any) -> Any:
    """Behind what is done to vectors first."""
    faiss = faiss_module()
    index = faiss.downcast_index(index)
    while isinstance(index, faiss.IndexPreTransform):
        index = faiss.downcast_index(index.index)
    return index


def compared(found: tuple[Floats, Keys], queries: Vectors, vectors: Vectors, metric: Metric) -> tuple[Floats, Keys]:
    """What was found, with exact scores, the best first."""
    keys = found[1]
    at_once = max(1, _GATHERED // max(1, keys.shape[1] * vectors.shape[1] * vectors.itemsize))
    parts = [slice(first, first + at_once) for first in range(0, len(keys), at_once)]
    scores = np.concatenate([_exact_scores(keys[part], queries[part], vectors, metric) for part in parts] or [found[0]])
    scores = np.where(keys >= 0, scores, -np.inf).astype(np.float32)
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(keys, order, axis=1)


def _exact_scores(keys: Keys, queries: Vectors, vectors: Vectors, metric: Metric) -> Floats:
    """[Q, K]"""
    rows = vectors[np.maximum(keys, 0)]  # [Q, K, D]
    if metric is Metric.DISTANCE:
        return -np.square(rows - queries[:, None]).sum(axis=2)
    return np.einsum("qkd,qd->qk", rows, queries)


def size_in_memory(index: Any) -> int:
    """Bytes, as it would be written."""
    faiss = faiss_module()
    counted = faiss.VectorIOWriter()
    faiss.write_index(index, counted)
    return int(counted.data.size())


def _moderate(index: Any) -> None:
    """faiss warns on standard error of few training vectors, which whoever asked for the type wants anyway; and it trains the codes of PQ on more
    vectors, for longer, than changes what is found."""
    inner = innermost(index)
    codes = getattr(inner, "pq", None)
    for part in (inner, codes):
        if part is not None and hasattr(part, "cp"):
            part.cp.min_points_per_centroid = 1
    if codes is not None:
        codes.cp.max_points_per_centroid, codes.cp.niter = _TRAINED_ON, 12
