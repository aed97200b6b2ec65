"""Every type that faiss has a name for: found, filtered, removed, added to, compacted; against faiss' own exact search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.search.embedded import ann, building, finding, types
from plume.search.embedded.choosing import Tried, choose
from plume.search.index import Index
from plume.search.settings import Metric

faiss = pytest.importorskip("faiss")
TYPES = {
    "flat": 1.0, "hnsw": 0.95, "ivf": 0.9, "lsh": 0.1, "sq": 0.95, "pq": 0.35, "ivf-sq": 0.85, "ivfadc": 0.35, "ivfadc-refine": 0.85,
    "SQ8,Refine(Flat)": 0.95, "IVF16,Flat,Refine(SQ8)": 0.85, "RQ2x4": 0.1, "IVF16,RQ2x4": 0.1, "PCA16,LSH": 0.1, "ITQ16,LSH": 0.1,
    "IVF16,PQ8x4fs": 0.3, "RaBitQ": 0.3, "IVF16,PQ16": 0.6, "PCA16,IVF16,SQ8,RFlat": 0.9, "HNSW16,SQ8": 0.9,
}  # fmt: skip


def exact(rows: NDArray[np.float32], queries: NDArray[np.float32], kept: NDArray[np.int64]) -> NDArray[np.int64]:
    oracle = faiss.IndexFlatIP(rows.shape[1])
    oracle.add(rows[kept])
    return kept[oracle.search(queries, 10)[1]]


def recall(found: NDArray[np.int64], right: NDArray[np.int64]) -> float:
    return float(np.mean([len(set(one) & set(other)) / 10 for one, other in zip(found.tolist(), right.tolist(), strict=True)]))


def filled(folder: Path, rows: NDArray[np.float32], type: str, metric: str = "cosine") -> Index:
    index = Index.create(folder / "idx", dimension=rows.shape[1], type=type, words=None, metric=metric)
    index.add(({"id": str(number), "text": "", "group": number % 100, "half": number % 2} for number in range(len(rows))), vectors=rows)
    return index


@pytest.mark.parametrize("type", TYPES)
def test_every_type(type: str, tmp_path: Path, clustered: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "_FEW", 40)  # so that filters reach faiss
    everything = np.arange(3_000)
    with filled(tmp_path, clustered, type) as index:
        queries = clustered[::60]
        backend = index.backend
        assert backend.info()["built"] == (0 if type == "flat" else 3_000)
        assert recall(backend.search_vectors(queries, top=10).keys, exact(clustered, queries, everything)) >= TYPES[type]
        few = backend.search_vectors(queries, top=10, where=index.condition("group = 3")).keys
        assert recall(few, exact(clustered, queries, everything[3::100])) >= 0.95
        half = backend.search_vectors(queries, top=10, where=index.condition("half = 1")).keys
        assert (half % 2 == 1).all()
        assert recall(half, exact(clustered, queries, everything[1::2])) >= TYPES[type] - 0.05

        index.remove([str(number) for number in range(0, 3_000, 60)])
        assert not set(backend.search_vectors(queries, top=10).keys.ravel().tolist()) & set(range(0, 3_000, 60))
        index.add(({"id": str(number), "text": "again", "group": 1, "half": 0} for number in range(0, 3_000, 60)), vectors=queries)
        nearest = backend.search_vectors(queries, top=1)
        assert [one.document for one in backend.get(nearest.keys[:, 0].tolist())] == [str(number) for number in range(0, 3_000, 60)]
        assert np.allclose(nearest.scores, 1, atol=1e-4)
        assert index.check() == []
        index.compact()
        assert index.check() == [] and backend.info()["removed"] == 0
        found = backend.get(backend.search_vectors(queries, top=1, exact=True).keys[:, 0].tolist())
        assert [one.document for one in found] == [str(number) for number in range(0, 3_000, 60)]


@pytest.mark.parametrize("type", ["hnsw", "ivf", "lsh", "sq", "ivfadc-refine"])
def test_distances(type: str, tmp_path: Path, clustered: NDArray[np.float32]) -> None:
    with filled(tmp_path, 2 * clustered, type, metric="l2") as index:
        found = index.backend.search_vectors(2 * clustered[:20], top=1)
        assert np.mean(found.keys[:, 0] == np.arange(20)) >= 0.9
        assert np.median(found.scores) == pytest.approx(0, abs=0.2)


def test_additions_are_compared_one_by_one_until_there_are_many(
    tmp_path: Path, clustered: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_TAIL", 300)
    with filled(tmp_path, clustered[:2_000], "ivf") as index:
        for first in (2_000, 2_200, 2_400):
            records = ({"id": str(number), "text": ""} for number in range(first, first + 200))
            index.add(records, vectors=clustered[first : first + 200])
            assert index.backend.info()["built"] == {2_000: 2_000, 2_200: 2_400, 2_400: 2_400}[first]
            found = index.backend.search_vectors(clustered[: first + 200], top=1).keys[:, 0]
            assert np.mean(found == np.arange(first + 200)) > 0.97
        assert index.check() == []


def test_too_few_vectors_for_a_type_are_searched_exactly(tmp_path: Path, clustered: NDArray[np.float32]) -> None:
    with filled(tmp_path, clustered[:100], "IVF256,PQ8") as index:
        assert "needs at least 256 vectors" in (index.prepared or "")
        assert index.backend.search_vectors(clustered[:5], top=1).keys[:, 0].tolist() == [0, 1, 2, 3, 4]


def test_an_unknown_type_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match="--type IVF12,Nonsense is no index that faiss can make"):
        Index.create(tmp_path / "idx", dimension=8, type="IVF12,Nonsense")
    with pytest.raises(PlumeError, match="for 10 dimensions"):
        Index.create(tmp_path / "idx2", dimension=10, type="PQ48")


@pytest.mark.parametrize(
    "type", ["HNSW1", "HNSW1,SQ8", "IVF16_HNSW1,Flat", "NSG16", "IVF0,Flat", "IDMap,Flat", "PQ8+8", "IVF16,RQ4x4fs", "SQ8_direct"]
)
def test_what_faiss_makes_and_cannot_search_is_refused_at_once(type: str, tmp_path: Path) -> None:
    """Some of these end the process: nothing may reach faiss."""
    with pytest.raises(PlumeError, match=r"cannot be searched .*give auto, flat, hnsw"):
        Index.create(tmp_path / "idx", dimension=32, type=type)


def test_a_type_that_needs_more_vectors_waits_for_them(tmp_path: Path, clustered: NDArray[np.float32]) -> None:
    with filled(tmp_path, clustered, "PQ8x12") as index:
        assert "needs at least 4,096 vectors" in (index.prepared or "")
        assert index.backend.search_vectors(clustered[:5], top=1).keys[:, 0].tolist() == [0, 1, 2, 3, 4]


def test_a_removal_leaves_searching_to_faiss(tmp_path: Path, clustered: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a filter leaves may be so few that all are compared; what removals leave was chosen by nobody."""
    compared: list[int] = []
    flat = ann.flat
    monkeypatch.setattr(ann, "flat", lambda queries, rows, **how: compared.append(len(rows)) or flat(queries, rows, **how))
    with filled(tmp_path, clustered, "hnsw") as index:
        index.remove(["7"])
        compared.clear()
        assert 7 not in index.backend.search_vectors(clustered[7:8], top=10).keys
        assert compared == []
        index.backend.search_vectors(clustered[7:8], top=10, where=index.condition("half = 1"))
        assert compared == [1_499]


def test_that_comparing_with_all_is_best_is_measured_once(
    tmp_path: Path, clustered: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until there are four times as many."""
    measured: list[int] = []

    def choose_flat(vectors: NDArray[np.float32], *_: object, rows: int) -> list[Tried]:
        measured.append(rows)
        return [Tried(type="flat", recall=1.0, milliseconds=1.0, megabytes=0.0, seconds=0.0, chosen=True)]

    monkeypatch.setattr(building, "SMALL", 200)
    monkeypatch.setattr(building, "choose", choose_flat)
    with filled(tmp_path, clustered[:600], "auto") as index:
        for first in (600, 1_200, 1_800, 2_400):
            records = ({"id": str(number), "text": ""} for number in range(first, first + 600))
            index.add(records, vectors=clustered[first : first + 600])
            assert (index.prepared is None) == (first != 2_400)
        assert measured == [600, 3_000]
        index.compact()
        assert measured == [600, 3_000, 3_000]


def test_the_type_is_chosen_by_measuring(tmp_path: Path, clustered: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest of those that reach the recall and are worth it; all are in the table."""
    tried = choose(clustered, Metric.COSINE, 0.9, rows=1_000_000)
    chosen = next(one for one in tried if one.chosen)
    fitting = [one for one in tried if one.recall >= 0.9 and one.type != "flat" and one.milliseconds < 0.7 * tried[0].milliseconds]
    assert chosen == min(fitting, key=lambda one: one.megabytes, default=tried[0])
    monkeypatch.setattr(building, "SMALL", 2_000)
    with filled(tmp_path, clustered, "auto") as index:
        info = index.backend.info()
        assert [one["type"] for one in info["measured"]] == ["flat", "ivfadc-refine", "ivf-sq", "ivf", "hnsw"]
        assert "← chosen" in (index.prepared or "") and index.check() == []


def test_small_collections_need_no_type(tmp_path: Path, clustered: NDArray[np.float32]) -> None:
    with filled(tmp_path, clustered, "auto") as index:
        assert index.prepared is None and index.backend.info()["type"] == types.FLAT
