"""The sampled softmax: the sampler's law, the estimate it makes, and the full softmax as its limit."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from plume.core.batch import Encoded, Target
from plume.core.errors import PlumeError
from plume.heads.head import Dims
from plume.heads.sampled_softmax import Sample, SampledSoftmax, SampledSoftmaxModule, draw, log_uniform, sampled_cross_entropy
from plume.heads.token_prediction import TokenPrediction

WIDTH, VOCABULARY, COUNT = 6, 50, 8


def head_of(samples: int, *, bias: bool = True) -> SampledSoftmaxModule:
    torch.manual_seed(0)
    head = SampledSoftmax(samples=samples, bias=bias).build(Dims(width=WIDTH, token=nn.Embedding(VOCABULARY, WIDTH))).double()
    if head.bias is not None:
        nn.init.normal_(head.bias)
    return head


def task() -> tuple[Encoded, Target]:
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(1, COUNT, WIDTH, generator=generator, dtype=torch.float64).requires_grad_()
    value = torch.randint(0, VOCABULARY, (COUNT,), generator=generator)
    return Encoded(last=hidden), Target(index=torch.arange(COUNT), value=value, whole=True)


def test_the_law_is_tensorflow_s() -> None:
    probability = log_uniform(1000)
    assert float(probability.sum()) == pytest.approx(1)
    assert float(probability[0]) == pytest.approx(math.log(2) / math.log(1001))
    assert float(probability[9] / probability[99]) == pytest.approx(math.log(11 / 10) / math.log(101 / 100))


def test_a_sample_is_as_if_drawn_one_by_one_without_repetition() -> None:
    """How often each word is among the first three distinct ones of a long row of draws."""
    torch.manual_seed(0)
    probability = log_uniform(8)
    mine, expected = torch.zeros(8), torch.zeros(8)
    for row in torch.multinomial(probability.expand(4000, 8), 3, replacement=False):
        expected[row] += 1
    for _ in range(4000):
        sample = draw(probability, 3)
        assert len(set(sample.words.tolist())) == 3
        mine[sample.words] += 1
    assert float((mine - expected).abs().max() / 4000) < 0.035


def test_sums_over_the_sample_are_unbiased() -> None:
    """The partition function of a softmax, from samples of 10 out of 50: the mean of many estimates is the sum itself."""
    torch.manual_seed(0)
    probability = log_uniform(VOCABULARY)
    mass = torch.randn(VOCABULARY, dtype=torch.float64).exp()
    estimates = []
    for _ in range(4000):
        sample = draw(probability, 10)
        estimates.append(float((mass / sample.log_chance.exp())[sample.words].sum()))
    found = torch.tensor(estimates, dtype=torch.float64)
    error = float(found.std()) / math.sqrt(len(found))
    assert error < 0.02 * float(mass.sum())
    assert abs(float(found.mean() - mass.sum())) < 3 * error


def test_the_loss_is_written_out() -> None:
    """Right words that were drawn count once; each score is less by the logarithm of the word's chance (TensorFlow)."""
    head, (encoded, target) = head_of(10), task()
    sample = Sample(words=target.value[[0, 3]].unique(), log_chance=torch.linspace(-2, -1, VOCABULARY, dtype=torch.float64))
    scores = head.logits(encoded.last[0]).detach()
    expected = 0.0
    for row, answer in enumerate(target.value.tolist()):
        seen = [answer, *(word for word in sample.words.tolist() if word != answer)]
        corrected = torch.stack([scores[row, word] - sample.log_chance[word] for word in seen])
        expected -= float(corrected.log_softmax(0)[0])
    found = sampled_cross_entropy(scores[torch.arange(COUNT), target.value], scores[:, sample.words].clone(), target.value, sample)
    assert float(found) == pytest.approx(expected, abs=1e-12)


def test_nothing_but_right_words_in_the_sample_gives_no_loss_and_no_gradient() -> None:
    answers = torch.randn(2, dtype=torch.float64, requires_grad=True)
    scores = torch.randn(2, 1, dtype=torch.float64, requires_grad=True)
    sample = Sample(words=torch.tensor([4]), log_chance=torch.zeros(5, dtype=torch.float64))
    loss = sampled_cross_entropy(answers, scores * 1, torch.tensor([4, 4]), sample)
    loss.backward()
    assert float(loss.detach()) == 0
    assert answers.grad is not None and scores.grad is not None
    assert (answers.grad == 0).all()
    assert (scores.grad == 0).all()


@pytest.mark.parametrize("bias", [True, False])
def test_with_the_whole_vocabulary_it_is_the_full_softmax(bias: bool) -> None:
    encoded, target = task()
    head = head_of(VOCABULARY, bias=bias)
    expected = F.cross_entropy(head.logits(encoded.last[0]), target.value, reduction="sum")
    assert float((head.loss(encoded, target).total - expected).detach()) == pytest.approx(0, abs=1e-9)
    everything = draw(log_uniform(VOCABULARY), VOCABULARY)
    scores = head.logits(encoded.last[0])
    found = sampled_cross_entropy(scores[torch.arange(COUNT), target.value], scores.clone(), target.value, everything)
    assert float((found - expected).detach()) == pytest.approx(0, abs=1e-9)


def test_more_samples_come_nearer_and_measuring_uses_all_words() -> None:
    encoded, target = task()
    with torch.no_grad():
        measured = head_of(5).loss(encoded, target)
    assert measured.correct is not None
    full = float(measured.total)
    assert full == pytest.approx(float(F.cross_entropy(head_of(5).logits(encoded.last[0]), target.value, reduction="sum").detach()))
    far = []
    for samples in (3, 12, 45):
        head = head_of(samples)
        torch.manual_seed(3)
        losses = torch.stack([head.loss(encoded, target).total.detach() for _ in range(300)])
        far.append(abs(float(losses.mean()) - full) / full)
    assert far[0] > far[1] > far[2]
    assert far[2] < 0.02


def test_gradients_reach_only_the_words_seen() -> None:
    head, (encoded, target) = head_of(4), task()
    loss = head.loss(encoded, target)
    assert loss.count == COUNT
    loss.total.backward()
    touched = head.token.weight.grad
    assert touched is not None and encoded.last.grad is not None
    assert int((touched.abs().sum(1) > 0).sum()) <= 4 + len(set(target.value.tolist()))
    assert (touched[target.value].abs().sum(1) > 0).all()
    assert head.flops(3) == 2 * 3 * 4 * WIDTH


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(PlumeError, match="at least one sample"):
        SampledSoftmax(samples=0)
    with pytest.raises(PlumeError, match="no label smoothing"):
        SampledSoftmax(smoothing=0.1)
    assert isinstance(SampledSoftmax(), TokenPrediction)
