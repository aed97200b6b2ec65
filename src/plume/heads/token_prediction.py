"""Token prediction: the one head of masked, causal, prefix and permuted language modelling, of denoising and translation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.cross_entropy import linear_cross_entropy
from plume.heads.head import Dims, Head, HeadModule, Loss, at
from plume.nn.activation import Activation
from plume.nn.factorised import narrowed, vector_width


@dataclass(frozen=True, kw_only=True)
class TokenPrediction(Head):
    """Scores over the vocabulary with the token embeddings as weights; BERT first transforms (dense, activation, norm), GPT does not."""

    transform: bool = True
    bias: bool = True
    tied: bool = True  # false: weights of its own (T5 1.1)
    scaled: bool = False  # states by 1/sqrt(width) before the product (T5, where the weights are tied)
    smoothing: float = 0.0  # of the labels, in training only (arXiv:1706.03762 §5.4)
    activation: Activation = Activation.GELU
    epsilon: float = 1e-12

    @property
    def needs_equal_widths(self) -> bool:
        return self.tied and not self.transform

    def build(self, dims: Dims) -> TokenPredictionModule:
        return TokenPredictionModule(self, dims)


class TokenPredictionModule(HeadModule):
    """A transform, then the product with every token's vector."""

    def __init__(self, part: TokenPrediction, dims: Dims) -> None:
        super().__init__()
        vocabulary, embedding_width = dims.token.num_embeddings, vector_width(dims.token)
        self.part = part
        self.token = dims.token if part.tied else nn.Embedding(vocabulary, dims.width)
        self.scale = 1.0 / math.sqrt(dims.width) if part.scaled else 1.0
        self.dense = nn.Linear(dims.width, embedding_width) if part.transform else None
        self.norm = nn.LayerNorm(embedding_width, eps=part.epsilon) if part.transform else None
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if part.bias else None

    def transform(self, hidden: Tensor) -> Tensor:
        """[..., D] states to what is held against the rows of the tokens' table."""
        if self.dense is None or self.norm is None:
            return narrowed(self.token, hidden if self.scale == 1.0 else hidden * self.scale)
        transformed: Tensor = self.norm(self.part.activation(self.dense(hidden)))
        return narrowed(self.token, transformed)

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(self.transform(hidden), self.token.weight, self.bias)

    def flops(self, predictions: int) -> int:
        return super().flops(predictions) + 2 * predictions * self.token.weight.numel()

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        return self.loss_of(at(encoded, target), target)

    def loss_of(self, hidden: Tensor, target: Target) -> Loss:
        """From [N, D] states, one for each answer."""
        if not torch.is_grad_enabled():  # measuring: accuracy is wanted too, and the plain loss
            scores = self.logits(hidden)
            total = F.cross_entropy(scores, target.value, reduction="sum")
            return Loss(total=total, count=len(target.value), correct=(scores.argmax(-1) == target.value).sum())
        total = linear_cross_entropy(self.transform(hidden), self.token.weight, self.bias, target.value, smoothing=self.part.smoothing)
        return Loss(total=total, count=len(target.value))
