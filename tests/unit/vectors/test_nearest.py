"""Exact search: the same as sorting all scores, whatever is left out and however the vectors are sliced."""

from __future__ import annotations

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.vectors import nearest
from plume.vectors.nearest import Nearest


def sorted_scores(vectors: np.ndarray, queries: np.ndarray, k: int, group: np.ndarray, exclude: np.ndarray) -> list[list[int]]:
    found = []
    for query, left_out in zip(queries, exclude, strict=True):
        allowed = [number for number in range(len(vectors)) if group[number] not in left_out]
        best = sorted(allowed, key=lambda number: (-float(query @ vectors[number]), number))[:k]
        found.append(best + [-1] * (k - len(best)))
    return found


@pytest.mark.parametrize("cells", [1 << 24, 60])
def test_is_what_sorting_all_scores_gives(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "_CELLS", cells)
    generator = np.random.default_rng(0)
    vectors = generator.integers(-3, 4, (200, 3)).astype(np.float32)  # whole numbers: many equal scores
    queries = generator.integers(-3, 4, (7, 3)).astype(np.float32)
    group = generator.integers(0, 30, 200)
    exclude = np.stack([generator.integers(-1, 30, 7), generator.integers(-1, 30, 7)], axis=1)
    found = Nearest(vectors, group=group).search(queries, 6, exclude=exclude)
    assert found.index.tolist() == sorted_scores(vectors, queries, 6, group, exclude)
    scores = np.take_along_axis(queries @ vectors.T, found.index, axis=1)
    assert np.array_equal(scores, found.score)


def test_too_few_vectors_leave_places_empty() -> None:
    found = Nearest(np.eye(2), group=np.array([4, 4])).search(np.ones((2, 2)), 3, exclude=np.array([4, -1]))
    assert found.index.tolist() == [[-1, -1, -1], [0, 1, -1]]
    assert np.isneginf(found.score[0]).all()
    assert Nearest(np.zeros((0, 2))).search(np.ones((1, 2)), 1).index.tolist() == [[-1]]


def test_a_single_vector_is_no_matrix() -> None:
    with pytest.raises(PlumeError, match="rows of one matrix"):
        Nearest(np.ones(3))
