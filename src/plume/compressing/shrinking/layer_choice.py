"""Which layers matter: those without which the loss is higher."""

from __future__ import annotations

from collections.abc import Sequence

from plume.model.gating import stacks_of
from plume.model.networks.model import Model
from plume.nn.route import Route, Stop, routed
from plume.nn.stack import Stack
from plume.tuning.task_loss import TaskLoss


def by_loss(model: Model, losses: Sequence[TaskLoss], kept: int) -> list[int]:
    """So many of a network's layers: one after the other goes, each time that without which the loss is lowest. A decoder's of the same depth go
    along."""
    first, *rest = stacks_of(model)
    stacks = [first, *(stack for stack in rest if stack.part.depth == first.part.depth)]
    left = list(range(first.part.depth))
    while len(left) > kept:
        tried = {gone: _loss(losses, stacks, [number for number in left if number != gone]) for gone in left}
        left.remove(min(left, key=lambda number: tried[number]))
    return left


def _loss(losses: Sequence[TaskLoss], stacks: Sequence[Stack], layers: Sequence[int]) -> float:
    with routed(*((stack, _route(stack, layers)) for stack in stacks)):
        return sum(loss.mean() for loss in losses)


def _route(stack: Stack, layers: Sequence[int]) -> Route:
    return [Stop(layer=layer, block=stack.block(layer) if layer in layers else None) for layer in range(stack.part.depth)]
