"""The body is frozen but for a factor on each dimension of its last states: a way that brings weights and acts while the body reads."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from plume.core.batch import Batch, Encoded
from plume.tuning.adapting.adaptation import Adaptation, OnTop
from plume.tuning.adapting.body import Body


class Scale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(width))

    def forward(self, states: Tensor) -> Tensor:
        return states * self.factor


class Scaled(OnTop):
    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.modules = {"scale": Scale(width)}

    def encode(self, body: Body, batch: Batch, **asked: Any) -> Encoded:
        encoded = body.encode(batch, **asked)
        return replace(encoded, last=self.modules["scale"](encoded.last))


@dataclass(frozen=True, kw_only=True)
class ScaledStates(Adaptation):
    def prepare(self, body: Body) -> None:
        body.requires_grad_(False)

    def on_top(self, body: Body) -> OnTop:
        return Scaled(body.width)


WAY = ScaledStates()
