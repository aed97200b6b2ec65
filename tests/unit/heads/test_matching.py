"""Choices by what is read and what is counted: a sum, against plain arithmetic; nothing is chosen where there is no choice."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims
from plume.heads.matching import Matching, MatchingModule

WIDTH, ROWS = 4, 5
STATES = torch.randn(ROWS, 1, WIDTH, generator=torch.Generator().manual_seed(4))
COUNTS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 0.0], [1.0, 1.0]])
CROSSED = torch.tensor([[1.0, 2.0], [3.0, 0.0], [0.0, 0.0], [2.0, 2.0], [0.0, 1.0]])
TARGET = Target(
    index=torch.arange(ROWS),
    value=torch.tensor([1, 0]),
    context=torch.tensor([[0, 1, 2], [3, 4, -1]]),
    feature=torch.cat([COUNTS, CROSSED], 1),
)


def head(**fields: object) -> MatchingModule:
    torch.manual_seed(0)
    return Matching(start=(2.0, -1.0), buckets=4, **fields).build(Dims(width=WIDTH, token=nn.Embedding(9, WIDTH)))  # type: ignore[arg-type]


def test_what_is_read_and_what_is_counted_are_added() -> None:
    made = head()
    scores = made.scores(Encoded(last=STATES), TARGET)
    read = made.output(STATES[:, 0])[:, 0]
    flat = (read + COUNTS @ torch.tensor([2.0, -1.0])).tolist()
    assert scores[0].tolist() == pytest.approx(flat[:3], abs=1e-6) and scores[1, :2].tolist() == pytest.approx(flat[3:], abs=1e-6)
    assert scores[1, 2] == float("-inf")


def test_without_reading_the_counts_decide() -> None:
    made = head(reading=False)
    scores = made.scores(Encoded(last=STATES), TARGET)
    assert scores[0].tolist() == pytest.approx([2.0, -1.0, 0.5]) and scores[1].tolist() == pytest.approx([0.0, 1.0, float("-inf")])
    with torch.no_grad():
        made.crossed.copy_(torch.tensor([7.0, 0.02, 0.04, 0.06]))  # the first is nobody's
    crossed = made.scores(Encoded(last=STATES), TARGET)[:, :2] - scores[:, :2]
    assert crossed.flatten().tolist() == pytest.approx([3.0, 3.0, 4.0, 1.0])
    made.loss(Encoded(last=STATES), TARGET).total.backward()
    assert made.output.weight.grad is not None and not made.output.weight.grad.any()  # there, so that optimizers and processes agree
    assert made.counted.grad is not None and made.counted.grad.any()
    assert made.crossed.grad is not None and made.crossed.grad[0] == 0 and made.crossed.grad[1:].all()


def test_without_counting_the_network_decides() -> None:
    made = head(counting=False)
    read = made.output(STATES[:, 0])[:, 0].tolist()
    assert made.scores(Encoded(last=STATES), TARGET)[0].tolist() == pytest.approx(read[:3], abs=1e-6)
