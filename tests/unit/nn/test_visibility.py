"""The fast masks against the one rule: rank[key] <= rank[query], the same document, padding last."""

from __future__ import annotations

import itertools

import pytest
import torch

from plume.core.batch import Batch, Order
from plume.nn.visibility import AttentionMask, mask_of, ranks, visible

TIME = 7
LENGTHS = torch.tensor([7, 4, 1])
RANK = torch.tensor([[0, 0, 0, 1, 2, 3, 3], [3, 2, 1, 0, 9, 9, 9], [5, -1, -1, 0, 0, 0, 0]])
DOCUMENT = torch.tensor([[0, 0, 1, 1, 1, 2, 2], [0, 1, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0]])


def batches() -> list[Batch]:
    tokens = torch.zeros(3, TIME, dtype=torch.long)
    return [
        Batch(tokens=tokens, order=order, rank=RANK if order is Order.RANKED else None, length=length, document=document)
        for order, length, document in itertools.product((Order.FULL, Order.CAUSAL, Order.RANKED), (None, LENGTHS), (None, DOCUMENT))
    ]


def rule(batch: Batch) -> torch.Tensor:
    """[B, T, T] by three loops."""
    seen = torch.zeros(3, TIME, TIME, dtype=torch.bool)
    for row, query, key in itertools.product(range(3), range(TIME), range(TIME)):
        length = TIME if batch.length is None else int(batch.length[row])
        before = {Order.FULL: True, Order.CAUSAL: key <= query, Order.RANKED: bool(RANK[row, key] <= RANK[row, query])}[batch.order]
        together = batch.document is None or bool(DOCUMENT[row, key] == DOCUMENT[row, query])
        seen[row, query, key] = before and together and key < length
    return seen


def written_out(mask: AttentionMask) -> torch.Tensor:
    allowed = mask.dense(TIME, TIME, torch.device("cpu"))
    whole = torch.ones(3, 1, TIME, TIME, dtype=torch.bool)
    return (whole if allowed is None else whole & allowed)[:, 0]


@pytest.mark.parametrize(
    "batch", batches(), ids=lambda b: f"{b.order}-{'padded' if b.length is not None else 'full'}-{b.document is not None}"
)
def test_masks_follow_the_rule_for_every_query_that_is_text(batch: Batch) -> None:
    length = torch.full((3,), TIME) if batch.length is None else batch.length
    text = torch.arange(TIME) < length[:, None]
    assert torch.equal(written_out(mask_of(batch))[text], rule(batch)[text])
    dense = visible(query=ranks(batch), key=ranks(batch), query_document=batch.document, key_document=batch.document)
    assert torch.equal(dense[text], rule(batch)[text])


@pytest.mark.parametrize(
    "batch", batches(), ids=lambda b: f"{b.order}-{'padded' if b.length is not None else 'full'}-{b.document is not None}"
)
def test_no_query_is_left_without_a_key(batch: Batch) -> None:
    assert written_out(mask_of(batch)).any(-1).all(), "a softmax over nothing is not a number"


@pytest.mark.parametrize(
    "batch", batches(), ids=lambda b: f"{b.order}-{'padded' if b.length is not None else 'full'}-{b.document is not None}"
)
def test_rows_of_a_mask_are_its_rows(batch: Batch) -> None:
    read = torch.tensor([[0, 6], [3, 1], [0, 0]])
    narrow = mask_of(batch).rows(read, TIME)
    assert not narrow.causal
    found = torch.ones(3, 1, 2, TIME, dtype=torch.bool) & (
        narrow.allowed if narrow.allowed is not None else torch.ones((), dtype=torch.bool)
    )
    whole = written_out(mask_of(batch))
    assert torch.equal(found[:, 0], whole.gather(1, read[:, :, None].expand(-1, -1, TIME)))


def test_fast_paths_make_no_dense_mask() -> None:
    tokens = torch.zeros(2, TIME, dtype=torch.long)
    assert mask_of(Batch(tokens=tokens)) == AttentionMask()
    assert mask_of(Batch(tokens=tokens, order=Order.CAUSAL, length=torch.tensor([3, 7]))) == AttentionMask(causal=True)
    padded = mask_of(Batch(tokens=tokens, length=torch.tensor([3, 7])))
    assert padded.allowed is not None
    assert padded.allowed.shape == (2, 1, 1, TIME)


def test_a_causal_mask_with_cached_keys_is_the_lower_right_corner() -> None:
    allowed = AttentionMask(causal=True).dense(2, 5, torch.device("cpu"))
    assert allowed is not None
    assert allowed.int().tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


def test_strict_sight_leaves_out_the_query_itself() -> None:
    rank = torch.tensor([[0, 1, 1]])
    assert visible(query=rank, key=rank, strict=True).int().tolist() == [[[0, 0, 0], [1, 0, 0], [1, 0, 0]]]


def test_a_mask_after_a_memory_shows_all_of_it() -> None:
    for batch in batches():
        mask = mask_of(batch)
        dense = mask.after(2, 3, TIME).dense(TIME, TIME + 2, torch.device("cpu"))
        allowed = torch.ones(3, 1, TIME, TIME + 2, dtype=torch.bool) if dense is None else dense.expand(3, 1, TIME, -1)
        assert allowed[..., :2].all()
        assert torch.equal(allowed[:, 0, :, 2:], written_out(mask))


def test_a_key_with_an_end_is_seen_only_before_it() -> None:
    """MPNet's mask copy of the token of rank r stands in for it until r: by rank 0 … 2, copies ending at 1 and at 2."""
    query, key, until = torch.tensor([[0, 1, 2]]), torch.tensor([[0, 1, -1, -1]]), torch.tensor([[9, 9, 1, 2]])
    assert visible(query=query, key=key, until=until).int().tolist() == [[[1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 0, 0]]]
    assert visible(query=query, key=key, until=until, strict=True).int().tolist() == [[[0, 0, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1]]]
