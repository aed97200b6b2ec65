"""One batching by length: everything once, in order of length, as much together as fits and no more."""

from __future__ import annotations

import numpy as np
import pytest

from plume.core.batching import by_length

LENGTH = np.random.default_rng(0).integers(1, 60, 400)


def slow(length: list[int], sizes: list[int], *, rows: int, tokens: float, spread: float, slack: int) -> list[list[int]]:
    """One thing after the other: it joins the batch if that still fits."""
    found: list[list[int]] = []
    for number in sorted(range(len(length)), key=lambda number: length[number]):
        last = [*found[-1], number] if found else []
        fits = (
            0 < len(last) <= rows
            and sum(sizes[one] for one in last) * length[number] <= tokens
            and length[number] <= length[last[0]] * (1 + spread) + slack
        )
        found[-1:] = [last] if fits else [*found[-1:], [number]]
    return found


@pytest.mark.parametrize("rows", [1, 7, 128])
@pytest.mark.parametrize("tokens", [10, 500, None])
@pytest.mark.parametrize(("spread", "slack"), [(None, 0), (0.0, 0), (0.25, 0), (0.25, 9)])
def test_as_one_after_the_other(rows: int, tokens: int | None, spread: float | None, slack: int) -> None:
    for sizes in (None, np.random.default_rng(1).integers(1, 5, len(LENGTH))):
        found = [index.tolist() for index in by_length(LENGTH, rows=rows, tokens=tokens, spread=spread, slack=slack, sizes=sizes)]
        assert sorted(number for index in found for number in index) == list(range(len(LENGTH)))
        assert found == slow(
            LENGTH.tolist(),
            [1] * len(LENGTH) if sizes is None else sizes.tolist(),
            rows=rows,
            tokens=np.inf if tokens is None else tokens,
            spread=np.inf if spread is None else spread,
            slack=slack,
        )


def test_equal_lengths_are_exactly_that() -> None:
    assert all(len(set(LENGTH[index])) == 1 for index in by_length(LENGTH, spread=0.0))
    assert list(by_length([])) == []
