"""Token prediction: the one head of masked, causal, prefix and permuted language modelling."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.cross_entropy import linear_cross_entropy
from plume.heads.head import Dims, Head, HeadModule, Loss, at
from plume.nn.activation import Activation


@dataclass(frozen=True, kw_only=True)
class TokenPrediction(Head):
    """Scores over the vocabulary with the token embeddings as weights; BERT first transforms (dense, activation, norm), GPT does not."""

    transform: bool = True
    bias: bool = True
    activation: Activation = Activation.GELU
    epsilon: float = 1e-12

    def build(self, dims: Dims) -> TokenPredictionModule:
        return TokenPredictionModule(self, dims)


class TokenPredictionModule(HeadModule):
    def __init__(self, part: TokenPrediction, dims: Dims) -> None:
        super().__init__()
        vocabulary, embedding_width = dims.token.weight.shape
        self.token = dims.token
        self.activation = part.activation
        self.dense = nn.Linear(dims.width, embedding_width) if part.transform else None
        self.norm = nn.LayerNorm(embedding_width, eps=part.epsilon) if part.transform else None
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if part.bias else None

    def transform(self, hidden: Tensor) -> Tensor:
        if self.dense is None or self.norm is None:
            return hidden
        transformed: Tensor = self.norm(self.activation(self.dense(hidden)))
        return transformed

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(self.transform(hidden), self.token.weight, self.bias)

    def flops(self, predictions: int) -> int:
        return super().flops(predictions) + 2 * predictions * self.token.weight.numel()

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        hidden = at(encoded, target)
        if not torch.is_grad_enabled():  # measuring: accuracy is wanted too
            scores = self.logits(hidden)
            total = F.cross_entropy(scores, target.value, reduction="sum")
            return Loss(total=total, count=len(target.value), correct=(scores.argmax(-1) == target.value).sum())
        total = linear_cross_entropy(self.transform(hidden), self.token.weight, self.bias, target.value)
        return Loss(total=total, count=len(target.value))
