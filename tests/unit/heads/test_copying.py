"""PALM's copying head against its equations in numpy, and what it does to losses, scores and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from plume.core.batch import Batch, Encoded, Target
from plume.core.part import replace
from plume.heads.copying import Copying, CopyingModule
from plume.heads.head import Dims

WIDTH, VOCABULARY, ROWS, TIME, SOURCE = 6, 11, 3, 4, 5
LENGTH = [5, 3, 1]
TOKENS = [[4, 7, 4, 9, 4], [2, 2, 8, 0, 0], [5, 0, 0, 0, 0]]


@pytest.fixture(scope="module")
def head() -> CopyingModule:
    torch.manual_seed(0)
    made = Copying().build(Dims(width=WIDTH, token=nn.Embedding(VOCABULARY, WIDTH))).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return made


@pytest.fixture(scope="module")
def encoded() -> Encoded:
    generator = torch.Generator().manual_seed(1)
    states = [torch.randn(ROWS, size, WIDTH, generator=generator, dtype=torch.float64) for size in (TIME, SOURCE)]
    return Encoded(last=states[0], read=states[1], source=Batch(tokens=torch.tensor(TOKENS), length=torch.tensor(LENGTH)))


def softmax(scores: Any) -> Any:
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def oracle(head: CopyingModule, encoded: Encoded) -> Any:
    """[B, T, V] probabilities, one position after the other, as the paper's equations read."""
    w = {name: value.detach().numpy() for name, value in head.state_dict().items()}
    found = np.zeros((ROWS, TIME, VOCABULARY))
    for row in range(ROWS):
        source, m = TOKENS[row][: LENGTH[row]], encoded.read[row, : LENGTH[row]].numpy()
        for step in range(TIME):
            s = encoded.last[row, step].numpy()
            vocabulary = softmax(w["token.weight"] @ (w["dense.weight"] @ s + w["dense.bias"]))
            energy = [w["score.weight"][0] @ np.tanh(w["memory.weight"] @ m_l + w["state.weight"] @ s + w["state.bias"]) for m_l in m]
            alpha = softmax(np.array(energy))
            z = sum(a * m_l for a, m_l in zip(alpha, m, strict=True))
            mixture = 1 / (1 + np.exp(-(w["gate.weight"][0] @ np.concatenate([z, s]) + w["gate.bias"][0])))
            found[row, step] = mixture * vocabulary
            for token, a in zip(source, alpha, strict=True):
                found[row, step, token] += (1 - mixture) * a
    return found


def test_probabilities_are_those_of_the_equations(head: CopyingModule, encoded: Encoded) -> None:
    expected = oracle(head, encoded)
    assert np.allclose(expected.sum(-1), 1)
    with torch.no_grad():
        found = head.log_probabilities(encoded).exp().numpy()
        last = head.next_scores(encoded).exp().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)  # generation is in float32
    np.testing.assert_allclose(last, expected[:, -1], atol=1e-6)


@pytest.mark.parametrize("slots", [False, True])
def test_the_loss_is_that_of_the_mixture(head: CopyingModule, encoded: Encoded, slots: bool) -> None:
    index = torch.tensor([0, 3, 5, 6, 11])
    value = torch.tensor([4, 1, 2, 10, 5])  # copied, only written, copied, only written, copied
    expected = -np.log(oracle(head, encoded).reshape(-1, VOCABULARY)[index.numpy(), value.numpy()])
    target = Target(index=index + 100, value=value, slot=index) if slots else Target(index=index, value=value)
    training = head.loss(encoded, target)
    with torch.no_grad():
        measuring = head.loss(encoded, target)
    assert float(training.total.detach()) == pytest.approx(expected.sum(), abs=1e-12)
    assert float(measuring.total) == pytest.approx(expected.sum(), abs=1e-12)
    best = oracle(head, encoded).reshape(-1, VOCABULARY)[index.numpy()].argmax(-1)
    assert int(measuring.correct) == int((best == value.numpy()).sum())


def test_gradients_are_finite_where_nothing_can_be_copied(head: CopyingModule, encoded: Encoded) -> None:
    for parameter in head.parameters():
        parameter.grad = None
    head.loss(encoded, Target(index=torch.tensor([0]), value=torch.tensor([1]))).total.backward()
    assert all(parameter.grad is not None and bool(parameter.grad.isfinite().all()) for parameter in head.parameters())


def test_padding_of_the_source_is_never_copied(head: CopyingModule, encoded: Encoded) -> None:
    other = torch.tensor(TOKENS)
    other[1, 3:], other[2, 1:] = 6, 3
    states = encoded.read.clone()
    states[1, 3:], states[2, 1:] = 7.0, -7.0
    changed = replace(encoded, source=replace(encoded.source, tokens=other), read=states)
    with torch.no_grad():
        assert torch.equal(head.log_probabilities(encoded), head.log_probabilities(changed))


def test_one_source_serves_many_beams(head: CopyingModule, encoded: Encoded) -> None:
    one = Encoded(last=encoded.last, read=encoded.read[:1], source=Batch(tokens=torch.tensor(TOKENS[:1])))
    many = Encoded(last=encoded.last, read=encoded.read[:1].expand(3, -1, -1), source=Batch(tokens=torch.tensor(TOKENS[:1] * 3)))
    with torch.no_grad():
        assert torch.allclose(head.log_probabilities(one), head.log_probabilities(many), atol=1e-12)


def test_flops_are_those_that_torch_counts(head: CopyingModule, encoded: Encoded) -> None:
    states = encoded.last.clone().requires_grad_(), encoded.read.clone().requires_grad_()
    target = Target(index=torch.tensor([0, 3, 5]), value=torch.tensor([4, 1, 2]))
    with FlopCounterMode(display=False) as counter:
        head.loss(replace(encoded, last=states[0], read=states[1]), target).total.backward()
    assert counter.get_total_flops() == 3 * (head.flops(3) + head.source_flops(rows=ROWS, queries=TIME, source=SOURCE))
