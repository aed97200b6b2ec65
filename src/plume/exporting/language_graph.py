"""A language model as a graph: states, sentence vectors, and the logits of tokens where it predicts them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.heads.head import HeadModule, precise
from plume.hf.sentence_folders import layers_of
from plume.model.networks.model import Model
from plume.model.use.language_model import LanguageModel
from plume.model.use.runtimes._graph import Graph, Signature
from plume.nn.pooling import Pooling


class LanguageGraph(Graph):
    """`last_hidden_state` [B, T, D], `sentence_embedding` [B, W] as `embed` makes it, and `logits` [B, T, V] of a masked or causal LM."""

    model: Model

    def __init__(self, language: LanguageModel, signature: Signature) -> None:
        super().__init__(language.model, language.tokenizer, signature)
        self.sentence = language.sentence
        self.token_head = _token_head(language)
        self.outputs = ("last_hidden_state", "sentence_embedding", *(("logits",) if self.token_head is not None else ()))
        self.precise = (*self.precise, "model.heads.")
        pooling = self.sentence.pooling if self.sentence is not None else None
        widths = language._widths()
        self.pooling = pooling.build(widths) if isinstance(pooling, Pooling) else None
        width = self.pooling.width if self.pooling is not None else widths[-1]
        self.layers = nn.ModuleList(_layer(one) for one in layers_of(self.sentence.transforms if self.sentence is not None else (), width))

    @property
    def body(self) -> Model:
        return self.model

    def compute(self, batch: Batch) -> tuple[Tensor, ...]:
        assert batch.length is not None, "the mask says it"
        encoded = self.model.encode(batch, keep_layers=True)
        found = (encoded.last, self._vector(encoded, batch.length))
        return found if self.token_head is None else (*found, precise(self.token_head.logits(encoded.last)))

    def _vector(self, encoded: Encoded, length: Tensor) -> Tensor:
        vector: Tensor = self.model.pool(encoded, -1, length) if self.pooling is None else self.pooling(encoded.layers, length)
        for layer in self.layers:
            vector = layer(vector)
        return vector

    def described(self) -> str:
        return f"{self.model.recipe.to_json()} {None if self.sentence is None else self.sentence.to_json()}"


def _token_head(language: LanguageModel) -> HeadModule | None:
    """Which predicts a token from the state that stands at its place, or before it; ELECTRA's reads another network, its generator."""
    can, assembly = language.abilities, language.recipe.assembly
    kind = can.causal() or can.masked()
    return None if kind is None or kind.noise.target.streams or assembly.decodes or assembly.generates else can.head(kind)


class _Normalise(nn.Module):
    def forward(self, vector: Tensor) -> Tensor:
        return vector / vector.norm(dim=-1, keepdim=True).clamp(min=1e-12)


class _Dense(nn.Module):
    def __init__(self, weight: Tensor, bias: Tensor, *, tanh: bool) -> None:
        super().__init__()
        self.weight, self.bias, self.tanh = nn.Parameter(weight, requires_grad=False), nn.Parameter(bias, requires_grad=False), tanh

    def forward(self, vector: Tensor) -> Tensor:
        made = vector @ self.weight + self.bias
        return torch.tanh(made) if self.tanh else made


def _layer(step) -> nn.Module:  # type: ignore[no-untyped-def]
    if step is None:
        return _Normalise()
    affine, tanh = step
    weight, bias = (torch.from_numpy(one).float() for one in (affine.weight, affine.bias))
    return _Dense(weight, bias, tanh=tanh)
