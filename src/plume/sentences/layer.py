"""PooledLayer: a layer between the first token's state and the loss, that is dropped after training or kept as a part of the vectors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.core.part import Part
from plume.vectors.dense import Dense

_SPREAD = 0.02  # of first weights, as BERT's


@dataclass(frozen=True, kw_only=True)
class PooledLayer(Part):
    """With a tanh it begins at random, as BERT's pooler; without, as the identity, which loses nothing, or at random where it changes the width."""

    tanh: bool = True
    kept: bool = False  # is it a part of the vectors at use?
    width: int | None = None  # of what it makes; None: as wide as the state

    def build(self, width: int, seed: int) -> PooledLayerModule:
        """With first weights."""
        return PooledLayerModule(self, width, seed)


class PooledLayerModule(nn.Module):
    """A dense layer, and tanh if there is one."""

    def __init__(self, part: PooledLayer, width: int, seed: int) -> None:
        super().__init__()
        made = part.width or width
        self.part, self.dense = part, nn.Linear(width, made)
        random = torch.randn((made, width), generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            plain = torch.eye(width) if made == width else random / width**0.5
            self.dense.weight.copy_(random * _SPREAD if part.tanh else plain)
            self.dense.bias.zero_()

    def forward(self, vectors: Tensor) -> Tensor:
        made: Tensor = self.dense(vectors)
        return torch.tanh(made) if self.part.tanh else made

    def transform(self) -> Dense:
        """The same, for use."""
        weight, bias = (one.detach().float().cpu().numpy() for one in (self.dense.weight.T, self.dense.bias))
        return Dense(tanh=self.part.tanh).with_arrays({"weight": weight.copy(), "bias": bias.copy()})
