"""Recurrent layers that read both ways, all of which heads see at once (DeepMoji, arXiv:1708.00524 §3.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from plume.core.batch import Batch, Encoded
from plume.core.errors import PlumeError
from plume.heads.attention_classification import AttentionClassificationModule
from plume.heads.head import Dims, HeadModule, Loss
from plume.model.networks.recurrent import RecurrentModel, picked
from plume.model.recipe import Recipe
from plume.nn.positions.scheme import PositionModule
from plume.nn.recurrent.bidirectional import Bidirectional
from plume.nn.recurrent.recurrent import Recurrent
from plume.objectives._objective import Objective


class BothWaysModel(RecurrentModel):
    """A token's state joins the outputs of all layers, the last one's first, and its own vector: each has a short way to the head.

    Where a head weighs tokens by attention, its weights also make one vector of a text: the paper's features.
    """

    def __init__(self, recipe: Recipe, *, vocabulary: int, penalty: float) -> None:
        super().__init__(recipe, vocabulary=vocabulary)
        self.penalty = penalty

    def _build_body(self, vocabulary: int) -> None:
        network = self.recipe.network
        assert isinstance(network, Recurrent)
        self.embedding = self.recipe.embedding.build(vocabulary=vocabulary, positions=PositionModule())
        self.encoder = Bidirectional(network=network).build(self.recipe.embedding.width)

    @property
    def width(self) -> int:
        return self.recipe.network.depth * self.encoder.part.output_width + self.recipe.embedding.width

    def _head(self, objective: Objective) -> HeadModule:
        return objective.head.build(Dims(width=self.width, token=self.embedding.token, pooler=self.pooler))

    def new_cache(self) -> list[Any]:
        raise PlumeError(f"{self.recipe.name} reads both ways, so it cannot write. It can embed.")

    def _encode(self, batch: Batch, *, keep_layers: bool, cache: list[Any] | None) -> Encoded:
        value = self._embedded(batch)
        read = self.encoder(value, length=batch.length, keep_layers=True)
        joined = torch.cat([*reversed(read.layers), value], dim=2)
        layers = (value, *read.layers[:-1], joined) if keep_layers else ()
        return Encoded(last=picked(joined, batch.read), layers=layers, state=read.state)

    def pool(self, encoded: Encoded, layer: int, length: Tensor) -> Tensor:
        heads = [head for head in self.heads.values() if isinstance(head, AttentionClassificationModule)]
        if not heads:
            return super().pool(encoded, layer, length)
        return (heads[0].weights(encoded.layers[-1], length)[..., None] * encoded.layers[layer]).sum(1)

    def losses(self, batch: Batch) -> dict[str, Loss]:
        """In training with a penalty on the squares of all token vectors, as Keras adds it to the mean loss."""
        found = super().losses(batch)
        if not self.penalty or not torch.is_grad_enabled():
            return found
        squares = self.penalty * self.embedding.token.weight.pow(2).sum()
        return {name: replace(loss, total=loss.total + squares * loss.count) for name, loss in found.items()}

    def body_flops(self, batch: Batch) -> int:
        rows, time = batch.tokens.shape
        return 3 * (self.encoder.flops(rows=rows, time=time) + self.embedding.product_flops(rows * time))
