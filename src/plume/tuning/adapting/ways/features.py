"""The model is frozen; a recurrent network reads a learned mixture of its layers (ELMo §3.3, BERT §5.3)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from plume.core.batch import Encoded
from plume.nn.pooling import LAST_MAX_MEAN, Pooling
from plume.nn.scalar_mix import ScalarMix
from plume.nn.task_network import TaskNetwork
from plume.tuning.adapting.adaptation import Adaptation, OnTop
from plume.tuning.adapting.body import Body, layer_widths


class Place(enum.StrEnum):
    """Where a task's network gets the mixture of layers: as its input, beside its own output, or both, each with weights of its own (ELMo §3.3)."""

    INPUT = "input"
    OUTPUT = "output"
    BOTH = "both"


@dataclass(frozen=True, kw_only=True)
class FrozenFeatures(Adaptation):
    """Layers are mixed and read by a network of the task's own; of a text a head reads its last, largest and mean state side by side."""

    network: TaskNetwork = TaskNetwork()
    place: Place = Place.INPUT  # where the mixture of layers enters the task's network
    penalty: float = 0.0  # λ of Σ w² on the mixture's weights: a large one keeps it near the mean of the layers (ELMo §3.3, §5.1)
    norm: bool = False  # layers brought to mean 0 and variance 1 before they are mixed, which ELMo §3.2 found to help in some cases

    frozen: ClassVar[bool] = True

    def on_top(self, body: Body) -> OnTop:
        return MixedLayers(self, body)

    def pooling_for(self, body: Body) -> Pooling | None:
        return self.pooling or LAST_MAX_MEAN


class MixedLayers(OnTop):
    """A mixture for each place, and the network."""

    needs_layers = True

    def __init__(self, part: FrozenFeatures, body: Body) -> None:
        self.part, self.body_width = part, body.width
        places = [Place.INPUT, Place.OUTPUT] if part.place is Place.BOTH else [part.place]
        self.mixes = {place: ScalarMix(layer_widths(body).count(body.width), norm=part.norm) for place in places}
        self.network = part.network.build(body.width)
        self.modules = {"mixes": nn.ModuleDict({str(place): mix for place, mix in self.mixes.items()}), "network": self.network}
        super().__init__(self.network.output_width + (body.width if Place.OUTPUT in places else 0))

    def widths(self, body: Body) -> Sequence[int]:
        return (self.width,)

    def layers(self, encoded: Encoded, length: Tensor | None) -> Sequence[Tensor]:
        layers = [layer for layer in encoded.layers if layer.shape[-1] == self.body_width]
        mixed: dict[Place, Tensor] = {place: mix(layers, length=length) for place, mix in self.mixes.items()}
        states = self.network(mixed.get(Place.INPUT, encoded.last), length)
        return (torch.cat([states, mixed[Place.OUTPUT]], dim=-1) if Place.OUTPUT in mixed else states,)

    def penalty(self) -> Tensor | None:
        if not self.part.penalty:
            return None
        return torch.stack([mix.penalty(self.part.penalty) for mix in self.mixes.values()]).sum()

    def flops(self, *, rows: int, time: int) -> int:
        return self.network.flops(rows=rows, time=time)


WAY = FrozenFeatures()
