"""faiss: the only file that imports it. Types by name or factory string, built from a file of vectors, searched with filters.

Types are given as faiss' factory strings. `RFlat` at the end (re-rank what a coarse type finds) costs no second copy here: the vectors are in
the index's own file. PQ is trained without polysemous codes (`np`), which take minutes and find nothing more.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.search.backend import Vectors
from plume.search.settings import Metric

Keys = NDArray[np.int64]
Floats = NDArray[np.float32]
FLAT = "Flat"
NAMES = {
    "flat": FLAT, "hnsw": "HNSW32", "ivf": "IVF{lists},Flat", "lsh": "LSH", "sq": "SQ8", "pq": "PQ{codes}np", "ivf-sq": "IVF{lists},SQ8",
    "ivfadc": "IVF{lists},PQ{codes}np", "ivfadc-refine": "IVF{lists},PQ{codes}np,RFlat",
}  # fmt: skip
REFINED = (8, 32, 128)  # times as many are found by a coarse type as are wanted, then compared exactly
_PQ = re.compile(r"(?<!O)(PQ\d+(?:x8)?)(?=,|$)")
_MAPPED = 256 << 20  # bytes from which on a file is mapped
_PRODUCT = 0  # faiss.METRIC_INNER_PRODUCT
_GATHERED = 1 << 25  # bytes of vectors that are compared at once
_TRAINED_ON = 64  # vectors a centroid


@cache
def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise PlumeError("Searching by vectors needs faiss: pip install 'plume-lm[search]', or leave vectors out (--no-vectors).") from None
    return faiss


def factory(type: str, *, dimension: int, rows: int) -> str:
    """The factory string of a type, given by name or as one.

    >>> factory("ivfadc", dimension=384, rows=100_000), factory("IVF256,PQ48", dimension=384, rows=10)
    ('IVF1264,PQ48np', 'IVF256,PQ48np')
    """
    lists = max(1, int(4 * rows**0.5))
    codes = next((count for count in (48, 32, 24, 16, 12, 8, 6, 4, 3, 2) if dimension % count == 0 and dimension >= 4 * count), 1)
    known = NAMES.get(type.lower())
    return known.format(lists=lists, codes=codes) if known else _PQ.sub(r"\1np", type)


def coarse(string: str) -> tuple[str, bool]:
    """Without the re-ranking at its end, and whether there was one."""
    return string.removesuffix(",RFlat"), string.endswith(",RFlat")


def declared(string: str, dimension: int, metric: Metric) -> Any:
    """An empty index of that type. LSH knows only distances, which order normalised vectors as products do."""
    faiss = _faiss()
    text, _ = coarse(string)
    measure = faiss.METRIC_L2 if metric is Metric.DISTANCE or text.startswith("LSH") else faiss.METRIC_INNER_PRODUCT
    try:
        made = faiss.index_factory(dimension, text, measure)
    except RuntimeError as error:
        why = str(error).rsplit(": ", 1)[-1].strip().splitlines()[0]
        raise PlumeError(
            f"--type {string} is no index that faiss can make for {dimension} dimensions ({why}): give auto, {', '.join(NAMES)}, "
            "or a factory string like HNSW32 or IVF256,PQ48."
        ) from None
    _moderate(made)
    return made


def least(string: str) -> int:
    """Vectors without which it cannot be trained.

    >>> least("IVF1024,PQ48np"), least("PQ48np"), least("HNSW32")
    (1024, 256, 1)
    """
    lists = re.search(r"IVF(\d+)", string)
    return max(int(lists[1]) if lists else 1, 256 if re.search("PQ|LSQ|RQ", string) else 1)


def sampled(index: Any, string: str, rows: int) -> int:
    """How many vectors it is trained on, of so many."""
    return 0 if index.is_trained else min(rows, max(1_000, least(string)) * _TRAINED_ON)


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
        _faiss().write_index(index, str(path))
    except RuntimeError as error:
        raise (
            OSError(28, "No space left on device", str(path)) if "write error" in str(error) or "fwrite" in str(error) else error
        ) from None


def load(path: Path, *, mapped: bool | None = None) -> Any:
    """Mapped into memory if it is large, so that opening costs nothing; a small one is read, as the first visit to a mapped page is slow."""
    faiss = _faiss()
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


def nearest(index: Any, queries: Vectors, *, top: int, effort: int, allowed: NDArray[np.bool_] | None = None) -> tuple[Floats, Keys] | None:
    """Scores (higher is better) and row numbers. None: this type cannot leave rows out, so that one has to ask for more and pick."""
    params, kept = _parameters(index, top, effort, allowed)
    if allowed is not None and kept is None:
        return None
    scores, keys = index.search(np.ascontiguousarray(queries), top, params=params)
    return (scores if index.metric_type == _PRODUCT else -scores), keys


def flat(queries: Vectors, rows: Vectors, *, top: int, metric: Metric) -> tuple[Floats, Keys]:
    """All compared with all, by faiss' own kernel, on the mapped file itself."""
    faiss = _faiss()
    if not len(rows) or not top:
        return np.zeros((len(queries), 0), np.float32), np.zeros((len(queries), 0), np.int64)
    distance = metric is Metric.DISTANCE
    measure = faiss.METRIC_L2 if distance else faiss.METRIC_INNER_PRODUCT
    scores, keys = faiss.knn(np.ascontiguousarray(queries), rows, min(top, len(rows)), metric=measure)
    return (-scores if distance else scores), keys


def is_exact(string: str) -> bool:
    """Are the scores it gives those of the vectors themselves?"""
    return not re.search(r"PQ|SQ|LSH|RaBitQ|PCA|OPQ|ITQ|LSQ|RQ", string)


def _innermost(index: Any) -> Any:
    faiss = _faiss()
    index = faiss.downcast_index(index)
    while isinstance(index, faiss.IndexPreTransform):
        index = faiss.downcast_index(index.index)
    return index


class _Family(enum.Enum):
    """Types by how faiss is told how far to look and what to leave out."""

    INVERTED = enum.auto()
    GRAPH = enum.auto()
    SELECTING = enum.auto()
    PLAIN = enum.auto()  # leaves nothing out


def _family(index: Any) -> tuple[_Family, int]:
    """And the number of its lists. Kept with the index, as asking takes as long as a search."""
    known = index.__dict__.get("plume_family")
    if known is None:
        faiss, inner = _faiss(), _innermost(index)
        inverted = faiss.try_extract_index_ivf(index)
        if inverted is not None:
            known = _Family.INVERTED, int(inverted.nlist)
        elif isinstance(inner, faiss.IndexHNSW):
            known = _Family.GRAPH, 0
        else:
            plain = isinstance(inner, faiss.IndexLSH | faiss.IndexPQ | faiss.IndexPQFastScan)
            known = (_Family.PLAIN if plain else _Family.SELECTING), 0
        index.__dict__["plume_family"] = known
    return known


def _parameters(index: Any, top: int, effort: int, allowed: NDArray[np.bool_] | None) -> tuple[Any, Any]:
    """How far to look, and which rows count. Selectors must outlive the search."""
    family, lists = _family(index)
    if allowed is None:
        return _unfiltered(family, min(effort, lists) if lists else max(effort, top)), None
    if family is _Family.PLAIN:
        return None, None
    faiss = _faiss()
    selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
    if family is _Family.INVERTED:
        return faiss.SearchParametersIVF(nprobe=min(effort, lists), sel=selector), selector
    if family is _Family.GRAPH:
        return faiss.SearchParametersHNSW(efSearch=max(effort, top), sel=selector), selector
    return faiss.SearchParameters(sel=selector), selector


@lru_cache(64)
def _unfiltered(family: _Family, effort: int) -> Any:
    if family is _Family.INVERTED:
        return _faiss().SearchParametersIVF(nprobe=effort)
    return _faiss().SearchParametersHNSW(efSearch=effort) if family is _Family.GRAPH else None


def efforts(string: str) -> list[int]:
    """Lists or neighbours to look at, from few to many; one where a type has nothing to choose.

    >>> efforts("IVF64,Flat"), efforts("SQ8")
    ([1, 2, 4, 8, 16, 32, 64], [1])
    """
    if lists := re.search(r"IVF(\d+)", string):
        return [1 << power for power in range(20) if 1 << power <= int(lists[1])]
    return [16, 32, 64, 128, 256, 512] if "HNSW" in string else [1]


def refinements(string: str) -> tuple[int, ...]:
    """How many times as many to find as are wanted, and to compare exactly: of types that are re-ranked."""
    return REFINED if coarse(string)[1] else (1,)


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
    faiss = _faiss()
    counted = faiss.VectorIOWriter()
    faiss.write_index(index, counted)
    return int(counted.data.size())


def _moderate(index: Any) -> None:
    """faiss warns on standard error of few training vectors, which whoever asked for the type wants anyway; and it trains the codes of PQ on more
    vectors, for longer, than changes what is found."""
    inner = _innermost(index)
    codes = getattr(inner, "pq", None)
    for part in (inner, codes):
        if part is not None and hasattr(part, "cp"):
            part.cp.min_points_per_centroid = 1
    if codes is not None:
        codes.cp.max_points_per_centroid, codes.cp.niter = _TRAINED_ON, 12
