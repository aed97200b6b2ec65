"""Span boundary: each token of a masked span from the two tokens beside the span and its place in it (SpanBERT, arXiv:1907.10529 §3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss
from plume.heads.token_prediction import TokenPrediction, TokenPredictionModule
from plume.nn.activation import Activation
from plume.nn.factorised import vector_width


@dataclass(frozen=True, kw_only=True)
class SpanBoundary(Head):
    """Two layers (linear, GELU, norm) over [left, right, place], then scores with the token embeddings as weights."""

    places: int = 20
    place_width: int = 200
    activation: Activation = Activation.GELU
    epsilon: float = 1e-12

    def build(self, dims: Dims) -> SpanBoundaryModule:
        return SpanBoundaryModule(self, dims)


class SpanBoundaryModule(HeadModule):
    """Two layers on the states at both boundaries of a span and a place in it, then the product with every token's vector."""

    def __init__(self, part: SpanBoundary, dims: Dims) -> None:
        super().__init__()
        self.activation = part.activation
        self.place = nn.Embedding(part.places, part.place_width)
        self.first = nn.Linear(2 * dims.width + part.place_width, dims.width)
        self.first_norm = nn.LayerNorm(dims.width, eps=part.epsilon)
        self.second = nn.Linear(dims.width, vector_width(dims.token))
        self.second_norm = nn.LayerNorm(vector_width(dims.token), eps=part.epsilon)
        self.output = TokenPredictionModule(TokenPrediction(transform=False), dims)

    def flops(self, predictions: int) -> int:
        return super().flops(predictions) + 2 * predictions * self.output.token.weight.numel()

    def transform(self, ends: Tensor, place: Tensor) -> Tensor:
        """[N, 2, D] states beside the span and [N] places to [N, E]."""
        joined = torch.cat([ends.flatten(1), self.place(place)], dim=1)
        hidden = self.first_norm(self.activation(self.first(joined)))
        result: Tensor = self.second_norm(self.activation(self.second(hidden)))
        return result

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        assert target.context is not None and target.feature is not None, "the noise says where spans end"
        states = encoded.last.reshape(-1, encoded.last.shape[-1])
        ends = states.index_select(0, target.context.flatten()).view(*target.context.shape, -1)
        return self.output.loss_of(self.transform(ends, target.feature), target)
