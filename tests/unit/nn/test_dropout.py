"""Dropout with cheap bits must be dropout all the same."""

from __future__ import annotations

import pytest
import torch

from plume.nn.dropout import Dropout, dropout, keep_mask


@pytest.mark.parametrize("probability", [0.1, 0.15, 0.5, 0.9])
def test_the_share_kept_and_the_mean(probability: float) -> None:
    torch.manual_seed(0)
    count = 1_000_003  # not a multiple of four
    mask, scale = keep_mask(torch.ones(count), probability)
    assert set(mask.unique().tolist()) == {0.0, 1.0}
    error = 5 * (probability * (1 - probability) / count) ** 0.5
    assert abs(float(mask.mean()) - (1 - probability)) < error + 1 / 65536
    assert scale == pytest.approx(1 / (1 - probability), rel=2e-4)
    assert abs(float(dropout(torch.ones(count), probability, training=True).mean()) - 1) < error * scale


def test_neighbours_that_share_a_draw_are_independent() -> None:
    torch.manual_seed(1)
    mask, _ = keep_mask(torch.ones(400_000), 0.3)
    lanes = mask.view(-1, 4)
    correlation = torch.corrcoef(lanes.T)
    assert float((correlation - torch.eye(4)).abs().max()) < 0.015
    assert float((lanes.mean(0) - 0.7).abs().max()) < 0.01


def test_gradients_pass_where_values_did() -> None:
    torch.manual_seed(2)
    value = torch.randn(50, 7, dtype=torch.float64, requires_grad=True)
    out = dropout(value, 0.4, training=True)
    out.backward(torch.ones_like(out))
    assert value.grad is not None
    assert torch.allclose(value.grad * value, out, atol=1e-14)
    kept = value.grad != 0
    assert 0.4 < float(kept.double().mean()) < 0.8
    assert len(value.grad[kept].unique()) == 1


def test_the_same_seed_drops_the_same() -> None:
    value = torch.randn(1000)
    drawn = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        drawn.append(dropout(value, 0.5, training=True))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_nothing_happens_outside_training() -> None:
    value = torch.randn(10)
    assert dropout(value, 0.5, training=False) is value
    assert dropout(value, 0.0, training=True) is value
    assert Dropout(0.5).eval()(value) is value
    assert not torch.equal(Dropout(0.5)(torch.ones(1000)), torch.ones(1000))


def test_odd_shapes_and_types() -> None:
    for shape in ((), (1,), (3,), (2, 5), (0, 4)):
        assert dropout(torch.ones(shape, dtype=torch.bfloat16), 0.5, training=True).shape == shape
    assert float(dropout(torch.ones(1000), 1.0, training=True).abs().max()) == 0.0
