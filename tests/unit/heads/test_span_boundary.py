"""The head of the span boundary objective, against numpy written from SpanBERT §3.2."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims
from plume.heads.span_boundary import SpanBoundary, SpanBoundaryModule

WIDTH, VOCABULARY = 6, 11


@pytest.fixture
def head() -> SpanBoundaryModule:
    made = SpanBoundary(places=5, place_width=3).build(Dims(width=WIDTH, token=nn.Embedding(VOCABULARY, WIDTH))).double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return made


def oracle(head: SpanBoundaryModule, states: np.ndarray, left: int, right: int, place: int, answer: int) -> float:
    """h0 = [x_left; x_right; p]; h1 = norm(gelu(W1 h0)); h2 = norm(gelu(W2 h1)); softmax over the tied embedding."""
    weight = {name: value.detach().numpy() for name, value in head.named_parameters()}

    def layer(x: np.ndarray, name: str) -> np.ndarray:
        x = weight[f"{name}.weight"] @ x + weight[f"{name}.bias"]
        x = np.array([value * 0.5 * (1 + math.erf(value / math.sqrt(2))) for value in x])
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-12)
        return x * weight[f"{name}_norm.weight"] + weight[f"{name}_norm.bias"]

    hidden = layer(layer(np.concatenate([states[left], states[right], weight["place.weight"][place]]), "first"), "second")
    scores = weight["output.token.weight"] @ hidden + weight["output.bias"]
    return float(np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[answer])


@pytest.fixture
def asked() -> tuple[torch.Tensor, Target]:
    """Two rows of five: a span at 1 … 2 of the first, one at 3 of the second."""
    states = torch.randn(2, 5, WIDTH, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    target = Target(
        index=torch.tensor([1, 2, 8]),
        value=torch.tensor([7, 9, 2]),
        context=torch.tensor([[0, 3], [0, 3], [7, 9]]),
        feature=torch.tensor([0, 1, 0]),
    )
    return states, target


@pytest.mark.parametrize("gradients", [True, False])
def test_the_loss_is_the_papers(head: SpanBoundaryModule, asked: tuple[torch.Tensor, Target], gradients: bool) -> None:
    states, target = asked
    flat = states.reshape(-1, WIDTH).numpy()
    expected = oracle(head, flat, 0, 3, 0, 7) + oracle(head, flat, 0, 3, 1, 9) + oracle(head, flat, 7, 9, 0, 2)
    with torch.set_grad_enabled(gradients):
        loss = head.loss(Encoded(last=states.clone().requires_grad_(gradients)), target)
    assert float(loss.total.detach()) == pytest.approx(expected, abs=1e-10)
    assert int(loss.count) == 3


def test_only_the_ends_are_read(head: SpanBoundaryModule, asked: tuple[torch.Tensor, Target]) -> None:
    """The states inside a span, and of every other token, play no part."""
    states, target = asked
    states = states.requires_grad_()
    head.loss(Encoded(last=states), target).total.backward()
    assert states.grad is not None
    read = states.grad.abs().sum(-1).flatten() > 0
    assert read.nonzero().flatten().tolist() == [0, 3, 7, 9]


def test_flops_count_every_product(head: SpanBoundaryModule) -> None:
    assert head.flops(4) == 2 * 4 * ((2 * WIDTH + 3) * WIDTH + WIDTH * WIDTH + VOCABULARY * WIDTH)
