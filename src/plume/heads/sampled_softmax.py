"""Token prediction with a sampled softmax: the loss of each step over the right word and a sample of the others (ELMo; arXiv:1412.2007)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from plume.core.batch import Target
from plume.core.errors import PlumeError
from plume.heads.head import Dims, HeadModule, Loss, precise
from plume.heads.token_prediction import TokenPrediction, TokenPredictionModule


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Distinct words drawn for one step, and the chance that each word of the vocabulary had to be among them."""

    words: Tensor  # [S]
    log_chance: Tensor  # [V]

    def hits(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """(answer, place in the sample) of each answer [N] that was drawn too."""
        place = torch.full_like(self.log_chance, -1, dtype=torch.long)
        place[self.words] = torch.arange(len(self.words), device=place.device)
        found = place[value]
        rows = (found >= 0).nonzero().squeeze(1)
        return rows, found[rows]


def log_uniform(vocabulary: int, *, device: torch.device | None = None) -> Tensor:
    """[V] P(k) = log((k + 2) / (k + 1)) / log(V + 1): nearly Zipf's law for words in order of falling frequency (TensorFlow's sampler)."""
    rank = torch.arange(vocabulary, device=device, dtype=torch.float64)
    return torch.log((rank + 2) / (rank + 1)) / math.log(vocabulary + 1)


def draw(probability: Tensor, count: int) -> Sample:
    """`count` distinct words, as drawing one by one and dropping repetitions gives them (TensorFlow's `unique` sampler).

    Each word arrives after an exponential time of its probability's rate; the first `count` are the sample. Given the time τ at which the
    next would have come, a word's chance is 1 − exp(−p τ), by which sums over the sample are unbiased. TensorFlow has
    1 − (1 − p)^n there, with n the number of draws it needed: the same but for rounding time to whole draws.
    """
    if count >= len(probability):
        return Sample(words=torch.arange(len(probability), device=probability.device), log_chance=torch.zeros_like(probability))
    arrival = torch.empty_like(probability).exponential_() / probability
    first = arrival.topk(count + 1, largest=False, sorted=True)
    log_chance = torch.log(-torch.expm1(-probability * first.values[-1]))
    return Sample(words=first.indices[:-1], log_chance=log_chance)


def sampled_cross_entropy(answers: Tensor, scores: Tensor, value: Tensor, sample: Sample) -> Tensor:
    """The summed loss from each right word's score [N] and those of the sample [N, S], which is changed in place.

    As TensorFlow's `sampled_softmax_loss`: the logarithm of a word's chance is taken off its score, the right word's too, and a right
    word that was also drawn counts once.
    """
    log_chance = sample.log_chance.to(scores.dtype)
    scores -= log_chance[sample.words]
    scores[sample.hits(value)] = -math.inf
    answers = answers - log_chance[value]
    others = scores.logsumexp(1)  # -inf where nothing but the right word was drawn: its gradient is then 0, by logaddexp
    return (torch.logaddexp(answers, others) - answers).sum()


@dataclass(frozen=True, kw_only=True)
class SampledSoftmax(TokenPrediction):
    """Trains on `samples` words a step, shared by all its predictions; measures and predicts with the whole vocabulary.

    Where the vocabulary is no larger than the sample, the loss is that of the whole vocabulary.
    """

    transform: bool = False
    tied: bool = False
    samples: int = 8192

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise PlumeError(f"A sampled softmax needs at least one sample a step, not {self.samples}.")
        if self.smoothing:
            raise PlumeError("A sampled softmax has no label smoothing: leave out smoothing, or take the full softmax.")

    def build(self, dims: Dims) -> SampledSoftmaxModule:
        return SampledSoftmaxModule(self, dims)


class SampledSoftmaxModule(TokenPredictionModule):
    """In training the softmax is over a sample of the vocabulary."""

    def __init__(self, part: SampledSoftmax, dims: Dims) -> None:
        super().__init__(part, dims)
        self.samples = part.samples

    def loss_of(self, hidden: Tensor, target: Target) -> Loss:
        vocabulary = len(self.token.weight)
        if not torch.is_grad_enabled() or self.samples >= vocabulary:
            return super().loss_of(hidden, target)
        sample = draw(log_uniform(vocabulary, device=hidden.device), self.samples)
        hidden = self.transform(hidden)
        bias = hidden.new_zeros(vocabulary) if self.bias is None else self.bias
        scores = precise(F.linear(hidden, F.embedding(sample.words, self.token.weight), bias[sample.words]))
        answers = precise((hidden * F.embedding(target.value, self.token.weight)).sum(1) + bias[target.value])
        return Loss(total=sampled_cross_entropy(answers, scores, target.value, sample), count=len(target.value))

    def flops(self, predictions: int) -> int:
        seen = min(self.samples, len(self.token.weight))
        return HeadModule.flops(self, predictions) + 2 * predictions * seen * self.token.embedding_dim
