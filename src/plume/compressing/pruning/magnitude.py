"""How large the weights of each head and neuron are."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from plume.model.gating import AttentionPlace, GatedUnit, gated_places
from plume.model.networks.model import Model
from plume.nn.block import Block


@torch.no_grad()
def magnitudes(model: Model, unit: GatedUnit) -> dict[AttentionPlace, list[Tensor]]:
    """The sum of |w| over the weights that belong to it alone, by place and layer."""
    found = {}
    for place, stack in gated_places(model, unit).items():
        blocks = [stack.block(layer) for layer in range(stack.part.depth)]
        found[place] = [
            _neurons(block) if unit is GatedUnit.NEURON else _heads(block, across=place is AttentionPlace.CROSS) for block in blocks
        ]
    return found


def _heads(block: Block, *, across: bool) -> Tensor:
    attention = block.across if across else block.attention
    assert attention is not None, "a place that looks across has something to look with"
    columns = sum((_outputs(one) for one in (attention.query, attention.key, attention.value)), _inputs(attention.output))
    return columns.view(attention.heads, attention.head_width).sum(1)


def _neurons(block: Block) -> Tensor:
    inner = block.feed_forward
    return sum((_outputs(one) for one in (inner.inner, inner.gate) if one is not None), _inputs(inner.output))


def _outputs(linear: nn.Linear) -> Tensor:
    rows = linear.weight.abs().sum(1)
    return rows if linear.bias is None else rows + linear.bias.abs()


def _inputs(linear: nn.Linear) -> Tensor:
    return linear.weight.abs().sum(0)
