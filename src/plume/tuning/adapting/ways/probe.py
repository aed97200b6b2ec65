"""The model is frozen; one linear layer shows what its states say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from plume.core.batch import Encoded
from plume.core.errors import PlumeError
from plume.nn.pooling import Pooling
from plume.tuning.adapting.adaptation import Adaptation, OnTop
from plume.tuning.adapting.body import Body, layer_widths


@dataclass(frozen=True, kw_only=True)
class LinearProbe(Adaptation):
    """A head on one layer; of a text it reads the mean."""

    layer: int | None = None  # from 0 (the embedding); None: the last

    frozen: ClassVar[bool] = True
    elsewhere: ClassVar[Mapping[str, str]] = {"layer": "A layer is chosen for --mode probe; --mode {mode} uses them all."}

    def on_top(self, body: Body) -> OnTop:
        return OnTop(body.width) if self.layer is None else OneLayer(body, self.layer)

    def pooling_for(self, body: Body) -> Pooling | None:
        return self.pooling or Pooling()


class OneLayer(OnTop):
    """Heads read this layer alone."""

    needs_layers = True

    def __init__(self, body: Body, layer: int) -> None:
        widths = layer_widths(body)
        if not -1 - len(widths) < layer < len(widths):
            raise PlumeError(f"There is no layer {layer} to probe: {body.recipe.name} has 0 (embedding) to {len(widths) - 1}.")
        super().__init__(widths[layer])
        self.layer = layer

    def widths(self, body: Body) -> Sequence[int]:
        return (self.width,)

    def layers(self, encoded: Encoded, length: Tensor | None) -> Sequence[Tensor]:
        return (encoded.layers[self.layer],)


WAY = LinearProbe()
