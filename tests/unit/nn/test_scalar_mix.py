"""ELMo's mixture of layers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.nn.scalar_mix import ScalarMix


def layers_of(count: int = 3) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(2, 4, 5, generator=generator, dtype=torch.float64) * (1 + index) + index for index in range(count)]


def test_it_is_the_paper_s_equation() -> None:
    mix, layers = ScalarMix(3).double(), layers_of()
    assert torch.allclose(mix(layers), sum(layers) / 3)  # type: ignore[arg-type]
    with torch.no_grad():
        mix.weight.copy_(torch.tensor([0.0, math.log(2), math.log(5)], dtype=torch.float64))
        mix.scale.fill_(3.0)
    expected = 3 * (layers[0] * 1 + layers[1] * 2 + layers[2] * 5) / 8
    assert float((mix(layers) - expected).detach().abs().max()) < 1e-12


def test_the_penalty_is_on_the_weights_only() -> None:
    mix = ScalarMix(3)
    with torch.no_grad():
        mix.weight.copy_(torch.tensor([1.0, -2.0, 0.5]))
    penalty = mix.penalty(0.1)
    assert float(penalty.detach()) == pytest.approx(0.525)
    penalty.backward()
    assert mix.scale.grad is None
    assert mix.weight.grad is not None
    assert torch.allclose(mix.weight.grad, torch.tensor([0.2, -0.4, 0.1]))


def test_the_norm_leaves_padding_out() -> None:
    mix, layers = ScalarMix(1, norm=True).double(), layers_of(1)
    length = torch.tensor([4, 2])
    kept = np.concatenate([layers[0][0].numpy().ravel(), layers[0][1, :2].numpy().ravel()])
    expected = (layers[0].numpy() - kept.mean()) / kept.std()
    assert np.abs(mix(layers, length=length).detach().numpy() - expected).max() < 1e-9
    whole = mix(layers).detach()
    assert float(whole.mean()) == pytest.approx(0, abs=1e-9)
    assert float(whole.square().mean()) == pytest.approx(1, abs=1e-9)


def test_another_number_of_layers_is_refused() -> None:
    with pytest.raises(PlumeError, match="3 layers was given 2"):
        ScalarMix(3)(layers_of(2))
    with pytest.raises(PlumeError, match="at least one layer"):
        ScalarMix(0)
