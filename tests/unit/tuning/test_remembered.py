"""A frozen body computes what it makes of a text once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from plume.core.batch import Batch, Encoded
from plume.tuning.adapting.remembered import RememberedStates


class Counting:
    """Sums of embeddings from the left, so that a state tells what stands before it; counts the rows it has read."""

    def __init__(self, *, layers: bool = True) -> None:
        self.table = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
        self.rows, self.layers = 0, layers

    def __call__(self, batch: Batch) -> Encoded:
        self.rows += len(batch.tokens)
        low = self.table[batch.tokens.clamp(max=40)]
        if batch.unseen is not None:
            unseen = batch.tokens >= 40
            low[unseen] = batch.unseen[batch.tokens[unseen] - 40].float()
        if batch.segment is not None:
            low = low + batch.segment[..., None]
        last = low.cumsum(1)
        return Encoded(last=last, layers=(low, last) if self.layers else ())


def _batch(*rows: list[int], **more: object) -> Batch:
    wide = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (wide - len(row)) for row in rows])
    return Batch(tokens=tokens, length=torch.tensor([len(row) for row in rows]), **more)  # type: ignore[arg-type]


def _same(ours: Encoded, theirs: Encoded, batch: Batch) -> None:
    assert batch.length is not None
    for mine, other in zip((ours.last, *ours.layers), (theirs.last, *theirs.layers), strict=True):
        for row, length in enumerate(batch.length.tolist()):
            assert torch.equal(mine[row, :length], other[row, :length])


@pytest.mark.parametrize("layers", [True, False])
def test_rows_are_read_once(layers: bool) -> None:
    body, plain, remembered = Counting(layers=layers), Counting(layers=layers), RememberedStates(40)
    with torch.no_grad():
        remembered.encode(_batch([1, 2, 3], [4]), body)
    assert body.rows == 2
    batch = _batch([4], [5, 6, 7, 8], [1, 2, 3])
    _same(remembered.encode(batch, body), plain(batch), batch)
    assert body.rows == 3  # the second alone
    _same(remembered.encode(batch, body), plain(batch), batch)
    assert body.rows == 4  # … which came while something learned, and is not kept


def test_all_that_is_read_tells_rows_apart() -> None:
    body, remembered = Counting(), RememberedStates(40)
    one = _batch([1, 2], segment=torch.tensor([[0, 0]]))
    other = replace(one, segment=torch.tensor([[0, 1]]))
    with torch.no_grad():
        for batch in (one, other):
            _same(remembered.encode(batch, body), Counting()(batch), batch)
    assert body.rows == 2


def test_words_without_an_id_are_told_by_their_spelling() -> None:
    body, remembered = Counting(), RememberedStates(40)
    first = _batch([1, 40], unseen=torch.tensor([[1, 1, 1, 1], [2, 2, 2, 2]]))
    moved = _batch([1, 41], unseen=torch.tensor([[2, 2, 2, 2], [1, 1, 1, 1]]))  # the same word under another number
    other = _batch([1, 40], unseen=torch.tensor([[2, 2, 2, 2], [1, 1, 1, 1]]))
    with torch.no_grad():
        for batch in (first, moved, other):
            _same(remembered.encode(batch, body), Counting()(batch), batch)
    assert body.rows == 2


def test_memory_is_bounded() -> None:
    body, remembered = Counting(), RememberedStates(40, most=100)
    with torch.no_grad():
        for token in range(1, 30):
            remembered.encode(_batch([token]), body)
        assert remembered.bytes <= 100
        remembered.encode(_batch([1], [29]), body)
    assert body.rows == 30


def test_what_hangs_on_other_rows_is_never_kept() -> None:
    body, remembered = Counting(), RememberedStates(40)
    batch = _batch([1, 2], stream=0)
    with torch.no_grad():
        for _ in range(2):
            remembered.encode(batch, body)
    assert body.rows == 2 and remembered.bytes == 0
    assert np.isfinite(remembered.encode(batch, body).last.numpy()).all()
