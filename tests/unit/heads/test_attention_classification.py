"""The head that weighs every token of a text, against numpy written from DeepMoji §3.2."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from plume.core.batch import Encoded, Target
from plume.heads.attention_classification import AttentionClassification, AttentionClassificationModule
from plume.heads.head import Dims

WIDTH, CLASSES, ROWS, TIME = 6, 4, 3, 5


@pytest.fixture
def head() -> AttentionClassificationModule:
    return AttentionClassification(classes=CLASSES).build(Dims(width=WIDTH, token=nn.Embedding(9, WIDTH))).double()


@pytest.fixture
def asked() -> tuple[torch.Tensor, Target]:
    states = torch.randn(ROWS, TIME, WIDTH, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    context = torch.arange(ROWS * TIME).view(ROWS, TIME)
    return states, Target(index=context[:, 0], value=torch.tensor([1, 3, 0]), context=context, feature=torch.tensor([5, 2, 3]))


def test_the_loss_is_the_papers(head: AttentionClassificationModule, asked: tuple[torch.Tensor, Target]) -> None:
    with torch.no_grad():
        head.attention.weight.copy_(torch.arange(WIDTH)[None] - 2.0)
    states, target = asked
    weight, bias = (value.detach().numpy() for value in (head.output.weight, head.output.bias))
    expected = 0.0
    for row, (length, answer) in enumerate(zip([5, 2, 3], [1, 3, 0], strict=True)):
        inside = states[row, :length].numpy()
        score = np.exp(inside @ (np.arange(WIDTH) - 2.0))
        scores = weight @ ((score / score.sum()) @ inside) + bias
        expected += float(np.log(np.exp(scores).sum()) - scores[answer])
    loss = head.loss(Encoded(last=states), target)
    assert float(loss.total.detach()) == pytest.approx(expected, abs=1e-12)
    assert loss.classes is not None and loss.classes.tolist() == [1, 1, 0, 1]


def test_every_token_counts_and_no_padding_does(head: AttentionClassificationModule, asked: tuple[torch.Tensor, Target]) -> None:
    states, target = asked
    states = states.requires_grad_()
    head.loss(Encoded(last=states), target).total.backward()
    assert states.grad is not None and head.attention.weight.grad is not None
    assert (states.grad.abs().sum(-1) > 0).tolist() == [[True] * 5, [True] * 2 + [False] * 3, [True] * 3 + [False] * 2]
    assert float(head.attention.weight.grad.abs().min()) > 0
