"""The loss that makes its gradient in the forward pass, against torch's own."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from plume.heads.cross_entropy import linear_cross_entropy

WIDTH, VOCABULARY = 6, 11


def inputs(count: int, *, bias: bool) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    generator = torch.Generator().manual_seed(0)
    hidden, weight = (torch.randn(rows, WIDTH, generator=generator, dtype=torch.float64) for rows in (count, VOCABULARY))
    offset = torch.randn(VOCABULARY, generator=generator, dtype=torch.float64) if bias else None
    return hidden, weight, offset, torch.randint(0, VOCABULARY, (count,), generator=generator)


def gradients(loss: Tensor, leaves: list[Tensor], scale: float) -> list[Tensor]:
    return list(torch.autograd.grad(loss * scale, leaves))


@pytest.mark.parametrize("scores_at_a_time", [4_000_000, 3 * VOCABULARY, 1])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("count", [0, 1, 7, 9])
def test_loss_and_gradients_are_torch_s(
    count: int, bias: bool, smoothing: float, scores_at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plume.heads.cross_entropy._SLICE", scores_at_a_time)
    hidden, weight, offset, value = inputs(count, bias=bias)
    leaves = [tensor.requires_grad_() for tensor in (hidden, weight, offset) if tensor is not None]
    ours = linear_cross_entropy(hidden, weight, offset, value, smoothing=smoothing)
    theirs = F.cross_entropy(F.linear(hidden, weight, offset), value, reduction="sum", label_smoothing=smoothing)
    assert float((ours - theirs).detach().abs()) < 1e-12
    for mine, expected in zip(gradients(ours, leaves, 0.37), gradients(theirs, leaves, 0.37), strict=True):
        assert mine.shape == expected.shape
        assert float((mine - expected).abs().max() if mine.numel() else 0) < 1e-12


def test_a_tied_weight_gathers_both_gradients() -> None:
    """The token embeddings are input and output weights at once."""
    found = []
    for loss in (linear_cross_entropy, lambda h, w, b, v: F.cross_entropy(F.linear(h, w, b), v, reduction="sum")):
        _, weight, _, value = inputs(5, bias=False)
        weight.requires_grad_()
        hidden = F.embedding(torch.tensor([1, 4, 4, 0, 9]), weight).tanh()
        loss(hidden, weight, None, value).backward()
        found.append(weight.grad)
    assert float((found[0] - found[1]).abs().max()) < 1e-12


def test_without_gradients_it_is_the_plain_loss() -> None:
    hidden, weight, offset, value = inputs(7, bias=True)
    with torch.no_grad():
        assert torch.equal(
            linear_cross_entropy(hidden, weight, offset, value), F.cross_entropy(F.linear(hidden, weight, offset), value, reduction="sum")
        )
        smoothed = linear_cross_entropy(hidden, weight, offset, value, smoothing=0.2)
        assert torch.equal(smoothed, F.cross_entropy(F.linear(hidden, weight, offset), value, reduction="sum", label_smoothing=0.2))


def test_a_frozen_body_still_trains_the_weights() -> None:
    hidden, weight, offset, value = inputs(7, bias=True)
    weight.requires_grad_()
    linear_cross_entropy(hidden, weight, offset, value).backward()
    assert weight.grad is not None
    assert float(weight.grad.abs().max()) > 0


def test_large_scores_stay_finite() -> None:
    hidden, weight, _, value = inputs(7, bias=False)
    hidden = (hidden * 1e4).requires_grad_()
    loss = linear_cross_entropy(hidden, weight, None, value)
    loss.backward()
    assert torch.isfinite(loss)
    assert hidden.grad is not None
    assert torch.isfinite(hidden.grad).all()


def test_a_second_backward_pass_is_refused_rather_than_wrong() -> None:
    """The gradient is scaled where it lies, to save memory."""
    hidden, weight, offset, value = inputs(7, bias=True)
    loss = linear_cross_entropy(hidden.requires_grad_(), weight.requires_grad_(), offset, value) * 3.0
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
