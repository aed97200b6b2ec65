"""Types that do not compare with all vectors: a filter must not starve them, and --exact must compare with all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.search.backend import Backend, StoredPassage
from plume.search.where.tree import Compare, Comparing, MetadataType

Make = Callable[..., tuple[Backend, Path]]
TYPES = {"milvus": ("hnsw", "ivf", "ivf-sq"), "postgresql": ("hnsw", "ivf"), "elasticsearch": ("hnsw", "sq"), "embedded": ("hnsw",)}
ROWS, WIDTH, TOP = 3_000, 16, 10


@pytest.mark.parametrize("number", range(3))
def test_a_filter_does_not_starve_it(make_backend: Make, url: str, number: int) -> None:
    """One passage in a hundred is allowed, and those lie farthest from the query: an index that filters what it has found finds none."""
    types = TYPES[url.partition(":")[0]]
    if number >= len(types) or url.startswith("elasticsearch"):
        pytest.skip("no further type that is its own")
    source = np.random.default_rng(1)
    vectors = source.normal(size=(ROWS, WIDTH)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = source.normal(size=(1, WIDTH)).astype(np.float32)
    near = (vectors @ query[0]).argsort()  # the farthest first
    rare = set(near[: ROWS // 100].tolist())
    backend, _ = make_backend(dimension=WIDTH, type=types[number])
    backend.declare({"rare": MetadataType.INT})
    backend.add([StoredPassage(document=str(row), text="cats", metadata={"rare": int(row in rare)}) for row in range(ROWS)], vectors)
    backend.commit()
    backend.prepare()
    assert types[number].partition("-")[0] in backend.info()["type"].lower()
    assert (backend.search_words(["cat"], top=2).keys >= 0).all()

    found = backend.search_vectors(query, top=TOP, where=Compare(column="rare", operator=Comparing.EQUAL, value=1))
    best = [str(row) for row in sorted(rare, key=lambda row: -float(vectors[row] @ query[0]))][:TOP]
    assert [one.document for one in backend.get(found.keys[0].tolist())] == best

    exact = backend.search_vectors(query, top=TOP, exact=True)
    assert [one.document for one in backend.get(exact.keys[0].tolist())] == [str(row) for row in near[::-1][:TOP]]
    quick = backend.search_vectors(query, top=TOP)
    assert len(set(quick.keys[0].tolist()) & set(exact.keys[0].tolist())) >= 7
    np.testing.assert_allclose(exact.scores[0], np.sort(vectors @ query[0])[::-1][:TOP], atol=1e-5)


def test_a_type_that_it_has_not_is_refused(make_backend: Make, url: str) -> None:
    with pytest.raises(PlumeError, match="polysemous"):
        make_backend(type="polysemous")
