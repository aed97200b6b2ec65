"""Everything learns (BERT §3.2), or all but the first layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from plume.core.errors import PlumeError
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body


@dataclass(frozen=True, kw_only=True)
class FullTuning(Adaptation):
    """The whole body learns."""

    frozen_layers: int = 0  # the embedding and the first so many layers do not learn; 0: all do
    layer_drop: float | None = None  # probability that a step leaves a layer out (LayerDrop, arXiv:1909.11556); None: as in pre-training

    exports: ClassVar[bool] = True
    elsewhere: ClassVar[Mapping[str, str]] = {
        "frozen_layers": "Layers are frozen one by one in --mode full; in --mode {mode} the model is frozen as a whole."
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frozen_layers < 0:
            raise PlumeError("frozen_layers is 0 or more.")
        if self.layer_drop is not None and not 0 <= self.layer_drop < 1:
            raise PlumeError("layer_drop is a share below 1.")

    @property
    def from_scratch(self) -> bool:
        return not self.frozen_layers

    def prepare(self, body: Body) -> None:
        if not self.frozen_layers:
            return
        stack = getattr(body, "stack", None)
        layers = [] if stack is None else list(stack.blocks)
        if not layers or self.frozen_layers > len(layers):
            raise PlumeError(f"There are {len(layers)} layers of their own to freeze in {body.recipe.name}, not {self.frozen_layers}.")
        for part in (getattr(body, "embedding"), *layers[: self.frozen_layers]):  # noqa: B009 - what has blocks has one
            part.requires_grad_(False)


WAY = FullTuning()
