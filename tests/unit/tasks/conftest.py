"""What a model predicts at the masks of one text, in one pass that batches and pads nothing: against which the tasks' passes are held."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from plume.core.batch import Batch, Order
from plume.model.use.abilities import Abilities


def _at_masks(can: Abilities, frame: list[int], places: list[int]) -> Tensor:
    tokens, found = can.tensor([frame]), can.segments(frame, None)
    segment = None if found is None else can.tensor([found])
    if kind := can.masked():
        return can.head(kind).logits(can.model.token_states(Batch(tokens=tokens, segment=segment)).last[0, places])
    kind = can.permuted()
    assert kind is not None
    # Blanks come last in the order, so that the text does not look at them, nor they at each other.
    rank = (tokens == can.mask).long()
    read = can.tensor([places])
    batch = Batch(tokens=tokens, segment=segment, order=Order.RANKED, rank=rank, read=read, query=torch.full_like(read, can.mask))
    return can.head(kind).logits(can.model.encode(batch).last[0])


@pytest.fixture(scope="session")
def at_masks() -> Callable[[Abilities, list[int], list[int]], Tensor]:
    """[blanks, V] scores."""
    return _at_masks
