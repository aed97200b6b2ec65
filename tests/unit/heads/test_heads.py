"""Heads: what they read, what they return, and ELECTRA's samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, at
from plume.heads.sentence_classification import SentenceClassification
from plume.heads.token_classification import BinaryTokenClassification
from plume.heads.token_prediction import TokenPrediction
from plume.model.networks.electra import sample
from plume.nn.pooling import Pooler, pooling_of

WIDTH, VOCABULARY = 8, 12


@pytest.fixture(scope="module")
def dims() -> Dims:
    torch.manual_seed(0)
    return Dims(width=WIDTH, token=nn.Embedding(VOCABULARY, WIDTH).double(), pooler=Pooler(WIDTH).double())


@pytest.fixture(scope="module")
def encoded() -> Encoded:
    return Encoded(last=torch.randn(3, 5, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64))


def target(index: list[int], value: list[int], slot: list[int] | None = None) -> Target:
    return Target(index=torch.tensor(index), value=torch.tensor(value), slot=None if slot is None else torch.tensor(slot))


def test_a_target_points_into_the_flattened_rows(encoded: Encoded) -> None:
    rows = encoded.last.view(-1, WIDTH)
    assert torch.equal(at(encoded, target([14, 0, 7], [1, 1, 1])), rows[[14, 0, 7]])
    assert torch.equal(at(encoded, target(list(range(15)), [0] * 15)), rows)
    narrow = Encoded(last=encoded.last[:, :2])
    assert torch.equal(at(narrow, target([14, 0, 7], [1, 1, 1], [5, 0, 2])), narrow.last.reshape(-1, WIDTH)[[5, 0, 2]])


@pytest.mark.parametrize("transform", [True, False])
def test_token_loss_with_and_without_gradients(dims: Dims, encoded: Encoded, transform: bool) -> None:
    head = TokenPrediction(transform=transform, bias=True).build(dims).double()
    asked = target([1, 4, 9, 9], [3, 11, 0, 5])
    scores = head.logits(encoded.last.view(-1, WIDTH)[asked.index])
    expected = F.cross_entropy(scores, asked.value, reduction="sum")
    training = head.loss(encoded, asked)
    with torch.no_grad():
        measuring = head.loss(encoded, asked)
    assert float((training.total - expected).detach().abs()) < 1e-12
    assert float((measuring.total - expected).detach().abs()) < 1e-12
    assert measuring.count == 4
    assert int(measuring.correct) == int((scores.argmax(-1) == asked.value).sum())


def test_smoothing_is_for_training_only(dims: Dims, encoded: Encoded) -> None:
    """What is measured can be held against families that smooth nothing."""
    head = TokenPrediction(transform=False, smoothing=0.1).build(dims).double()
    asked = target([1, 4, 9, 9], [3, 11, 0, 5])
    scores = head.logits(encoded.last.view(-1, WIDTH)[asked.index])
    training = head.loss(encoded, asked)
    with torch.no_grad():
        measuring = head.loss(encoded, asked)
    smoothed = F.cross_entropy(scores, asked.value, reduction="sum", label_smoothing=0.1)
    assert float((training.total - smoothed).detach().abs()) < 1e-12
    assert float((measuring.total - F.cross_entropy(scores, asked.value, reduction="sum")).detach().abs()) < 1e-12


def test_untied_and_scaled_scores(dims: Dims, encoded: Encoded) -> None:
    own = TokenPrediction(transform=False, bias=False, tied=False).build(dims).double()
    assert [parameter is dims.token.weight for parameter in own.parameters()] == [False]
    scaled, plain = (TokenPrediction(transform=False, bias=False, scaled=scaled).build(dims) for scaled in (True, False))
    assert float((scaled.logits(encoded.last) * WIDTH**0.5 - plain.logits(encoded.last)).detach().abs().max()) < 1e-12


def test_tied_weights_are_the_embedding_itself(dims: Dims) -> None:
    head = TokenPrediction(transform=False, bias=False).build(dims)
    assert [parameter is dims.token.weight for parameter in head.parameters()] == [True]
    assert head.flops(10) == 2 * 10 * WIDTH * VOCABULARY


def test_sentence_loss_is_pooled_cross_entropy(dims: Dims, encoded: Encoded) -> None:
    head = SentenceClassification(dropout=0.0).build(dims).double()
    asked = target([0, 5, 10], [1, 0, 1])
    pooled = torch.tanh(dims.pooler.dense(encoded.last[:, 0]))
    expected = F.cross_entropy(head.output(pooled), asked.value, reduction="sum")
    loss = head.loss(encoded, asked)
    assert float((loss.total - expected).detach().abs()) < 1e-12
    assert int(loss.correct) == int((head.output(pooled).argmax(-1) == asked.value).sum())
    assert loss.classes is not None
    assert loss.classes.tolist() == [1, 2]


def test_replaced_token_loss_is_binary_cross_entropy(dims: Dims, encoded: Encoded) -> None:
    head = BinaryTokenClassification().build(dims).double()
    asked = target([0, 3, 8], [1, 0, 1])
    scores = head.output(F.gelu(head.dense(encoded.last.view(-1, WIDTH)[asked.index]))).squeeze(-1)
    answer = asked.value.double()
    expected = -(answer * scores.sigmoid().log() + (1 - answer) * (1 - scores.sigmoid()).log()).sum()
    loss = head.loss(encoded, asked)
    assert float((loss.total - expected).detach().abs()) < 1e-10
    assert int(loss.correct) == int(((scores > 0) == answer.bool()).sum())


@pytest.fixture(scope="module")
def head(dims: Dims) -> Any:
    return TokenPrediction(transform=False, bias=False).build(dims).double()


def test_samples_follow_the_generator_s_distribution(head: Any, assert_shares: Any) -> None:
    hidden = torch.randn(2, WIDTH, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 0.5
    expected = head.logits(hidden).softmax(-1).detach().numpy()
    torch.manual_seed(0)
    drawn = sample(head, hidden.repeat_interleave(20_000, dim=0)).view(2, -1).numpy()
    for row in range(2):
        assert_shares(np.bincount(drawn[row], minlength=VOCABULARY), expected[row])


def test_samples_are_fixed_by_the_seed(head: Any) -> None:
    hidden = torch.randn(600, WIDTH, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(sample(head, hidden))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_a_certain_generator_is_obeyed(head: Any) -> None:
    sure = F.normalize(head.token.weight.detach(), dim=1) * 1e4
    best = head.logits(sure).argmax(-1)
    assert torch.equal(sample(head, sure), best)


def test_nothing_to_sample_is_no_sample(head: Any) -> None:
    assert sample(head, torch.zeros(0, WIDTH, dtype=torch.float64)).shape == (0,)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("mean", [[2.0, 1.0], [1.0, 9.0]]),
        ("first", [[1.0, 3.0], [1.0, 9.0]]),
        ("last", [[3.0, -1.0], [1.0, 9.0]]),
        ("max", [[3.0, 3.0], [1.0, 9.0]]),
    ],
)
def test_pooling_leaves_out_the_padding(pooling: str, expected: list[list[float]]) -> None:
    hidden = torch.tensor([[[1.0, 3.0], [3.0, -1.0], [99.0, 99.0]], [[1.0, 9.0], [99.0, 99.0], [99.0, 99.0]]])
    assert pooling_of(pooling).build([2])([hidden], torch.tensor([2, 1])).tolist() == expected
