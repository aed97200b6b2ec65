"""Both sides merged: by how much each prefers what it found, whatever its scale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plume.search.ranking import merged

SIDES = st.dictionaries(st.integers(0, 30), st.integers(1, 1_000).map(lambda number: number / 64), max_size=20)


@given(SIDES, SIDES, st.integers(1, 30), st.sampled_from([0.25, 1.0, 8.0]), st.integers(-5, 5))
def test_scales_do_not_matter(vectors: dict[int, float], words: dict[int, float], asked: int, times: float, more: int) -> None:
    """Vectors may be cosines, products or negative distances, of any scale and origin; words have a zero of their own."""
    found = merged(vectors, words, asked=asked)
    other = merged(
        {key: times * (score + more) for key, score in vectors.items()}, {key: times * score for key, score in words.items()}, asked=asked
    )
    assert other == pytest.approx(found) and set(found) == {*vectors, *words}
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert all(0 <= score <= 1 for score in found.values())


def test_a_clear_preference_outweighs_a_narrow_one() -> None:
    """Ranks alone would put both sides' firsts level: 1 and 2 here, 2 and 1 there."""
    assert list(merged({1: 0.71, 2: 0.70, 3: 0.1}, {2: 20.0, 1: 4.0}, asked=2)) == [2, 1, 3]


def test_what_only_one_side_finds_is_found() -> None:
    assert merged({}, {5: 3.0}, asked=10) == {5: 0.5}
    assert merged({4: -1.0}, {}, asked=10) == {4: 0.5}
    assert merged({}, {}, asked=10) == {}
