"""Draws depend on (seed, epoch, index, stream) and on nothing else, and look like chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.seeds import Draws


def uniform(count: int, *, seed: int = 0, epoch: int = 0, index: int = 0, stream: int = 1) -> np.ndarray:
    draws = Draws(seed=seed, epoch=epoch, index=np.array([index]))
    for _ in range(stream - 1):
        draws.uniform(1)
    return draws.uniform(count)[0]


def test_a_row_s_numbers_do_not_depend_on_its_batch_or_on_how_many_are_drawn() -> None:
    index = np.array([3, 70, 0, 3, 10**12])
    draws = Draws(seed=5, epoch=2, index=index)
    first, second = draws.uniform(9), draws.uniform(40)
    assert len(draws) == 5
    for row, number in enumerate(index):
        alone = Draws(seed=5, epoch=2, index=np.array([number]))
        assert (alone.uniform(100)[0, :9] == first[row]).all()
        assert (alone.uniform(5)[0] == second[row, :5]).all()
    assert (first[0] == first[3]).all()


@pytest.mark.parametrize("change", [{"seed": 1}, {"seed": -1}, {"epoch": 1}, {"index": 1}, {"stream": 2}, {"seed": 2**62}])
def test_every_coordinate_gives_other_numbers(change: dict[str, int]) -> None:
    ours, theirs = uniform(2000), uniform(2000, **change)
    assert (ours != theirs).all()
    assert abs(np.corrcoef(ours, theirs)[0, 1]) < 5 / np.sqrt(2000)


def test_coordinates_do_not_stand_in_for_each_other() -> None:
    """(seed 1, epoch 0) is not (seed 0, epoch 1), nor is any other small exchange."""
    keys = [{"seed": a, "epoch": b, "index": c, "stream": d} for a in range(3) for b in range(3) for c in range(3) for d in range(1, 4)]
    drawn = {tuple(uniform(2, **key)) for key in keys}
    assert len(drawn) == len(keys)


@pytest.mark.parametrize("over", ["count", "index", "epoch", "seed", "stream"])
def test_numbers_are_even_along_every_coordinate(over: str, assert_shares: Any) -> None:
    count = 20_000 if over in ("count", "index") else 2_000
    if over == "count":
        drawn = uniform(count)
    elif over == "index":
        drawn = Draws(seed=0, epoch=0, index=np.arange(count)).uniform(1)[:, 0]
    elif over == "stream":
        draws = Draws(seed=0, epoch=0, index=np.array([0]))
        drawn = np.array([draws.uniform(1)[0, 0] for _ in range(count)])
    else:
        drawn = np.array([uniform(1, **{over: number})[0] for number in range(count)])
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert_shares(np.histogram(drawn, 20, (0, 1))[0])
    ordered = np.sort(drawn)
    distance = np.abs(ordered - (np.arange(count) + 0.5) / count).max()  # Kolmogorov-Smirnov
    assert distance < 2.0 / np.sqrt(count)
    pairs = np.floor(drawn.reshape(-1, 2) * 5).astype(int)  # neighbours together are even too
    assert_shares(np.bincount(pairs[:, 0] * 5 + pairs[:, 1], minlength=25))


def test_integers_are_even_and_below_their_bound(assert_shares: Any) -> None:
    draws = Draws(seed=0, epoch=0, index=np.arange(4000))
    assert_shares(np.bincount(draws.integers(7, 5).ravel(), minlength=7))
    high = np.where(np.arange(4000) % 2 == 0, 3, 1000)[:, None]
    drawn = draws.integers(high, 4)
    assert (drawn < high).all()
    assert (drawn >= 0).all()
    assert_shares(np.bincount(drawn[::2].ravel(), minlength=3))


def test_no_draws_are_no_trouble() -> None:
    draws = Draws(seed=0, epoch=0, index=np.arange(0))
    assert draws.uniform(4).shape == (0, 4)
    assert Draws(seed=0, epoch=0, index=np.arange(3)).uniform(0).shape == (3, 0)


def test_any_seed_will_do() -> None:
    assert uniform(1, seed=2**63) != uniform(1, seed=0)
