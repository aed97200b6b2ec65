"""Streams that are read both ways: what a batch, its shares and the held-out text need."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.recipes import _catalog as catalog
from plume.train.feeding import held_out_rows
from plume.train.loop import Loop
from plume.train.pretrain import plan_of


def shares(family: str, *, batch: int, processes: int, accumulate: int) -> tuple[slice, ...]:
    recipe = catalog.recipe(f"{family}/tiny")
    recipe = replace(recipe, training=replace(recipe.training, batch=batch))
    loop: Any = SimpleNamespace(
        settings=SimpleNamespace(accumulate=accumulate),
        processes=SimpleNamespace(size=processes, rank=0),
        training=recipe.training,
        plan=plan_of(recipe),
    )
    return Loop._shares(loop)


@pytest.mark.parametrize(("processes", "accumulate"), [(1, 4), (2, 2), (4, 1)])
def test_a_share_has_whole_streams(processes: int, accumulate: int) -> None:
    """A process without rows of one direction would have no gradient for its network, and the others would wait for it."""
    for share in shares("elmo", batch=16, processes=processes, accumulate=accumulate):
        rows = np.arange(16)[share]
        assert sorted(rows[rows < 8] + 8) == sorted(rows[rows >= 8])
    assert shares("ulmfit", batch=12, processes=processes, accumulate=accumulate)
    with pytest.raises(PlumeError, match="to a multiple of 8"):
        shares("elmo", batch=12, processes=processes, accumulate=accumulate)


@pytest.mark.parametrize(("tokens", "processes", "rows"), [(10, 1, 2), (579, 1, 6), (99_999, 1, 64), (10, 3, 6)])
def test_held_out_rows_are_pairs(tokens: int, processes: int, rows: int) -> None:
    store: Any = SimpleNamespace(tokens=np.zeros(tokens))
    among: Any = SimpleNamespace(size=processes)
    assert held_out_rows(catalog.recipe("elmo/tiny"), store, among) == rows
