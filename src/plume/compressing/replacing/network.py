"""TheseusModel: a successor that learns in the midst of its predecessor's layers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.compressing.replacing.schedule import Replacement
from plume.core.batch import Batch
from plume.heads.head import Loss
from plume.model.gating import stacks_of
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.model.networks.model import Model
from plume.model.trainable import Trainable
from plume.nn.positions.scheme import PositionModule
from plume.nn.route import Route, Stop, routed
from plume.nn.stack import Stack
from plume.tuning.adapting.body import network
from plume.tuning.adapting.network import TaskModel

_NUMBER = re.compile(r"\.\d+(?=\.|$)")  # of a layer, in a parameter's name


@dataclass(frozen=True, kw_only=True)
class Ship:
    """One stack of the successor and the predecessor's: module i of the one stands for layers `bounds[i]` to `bounds[i + 1]` of the other.

    >>> [(start, end) for start, end in zip(bounds(6, 4), bounds(6, 4)[1:])]
    [(0, 2), (2, 3), (3, 4), (4, 6)]
    """

    own: Stack
    other: Stack
    positions: PositionModule | None  # the predecessor's, where each layer has its own

    def __str__(self) -> str:
        return f"{self.other.part.depth} by {self.own.part.depth}"

    def route(self, swapped: Sequence[bool]) -> Route:
        """Through the successor's module where it is swapped, else through the layers that it stands for."""
        first = bounds(self.other.part.depth, self.own.part.depth)
        stops: list[Stop] = []
        for number, replaced in enumerate(swapped):
            if replaced:
                stops.append(Stop(layer=number, block=self.own.block(number)))
            else:
                stops += [
                    Stop(layer=layer, block=self.other.block(layer), positions=self.positions)
                    for layer in range(first[number], first[number + 1])
                ]
        return stops


def bounds(depth: int, modules: int) -> list[int]:
    """Where each of so many modules begins in a stack of that depth, and where the last one ends."""
    return [round(number * depth / modules) for number in range(modules + 1)]


class TheseusModel(Trainable):
    """Only the successor's blocks learn; embedding, norms and heads are the predecessor's, in which it began. The predecessor is no part of the
    module: it is neither trained nor saved. Its layers drop states like the successor's, as in the authors' code."""

    def __init__(self, successor: TaskModel, predecessor: Model, replacement: Replacement) -> None:
        super().__init__()
        self.memories = {}
        self.successor, self.replacement, self.steps = successor, replacement, 0
        body = network(successor.body, "Only layers of a network can be replaced.")
        self._predecessor = [predecessor.to(next(body.parameters()).device).train().requires_grad_(False)]
        pairs = zip(stacks_of(body), stacks_of(predecessor), _positions(body), _positions(predecessor), strict=True)
        self.ships: list[Ship] = []
        learning: set[int] = set()
        for own, other, mine, theirs in pairs:
            by_layer = _by_layer(mine, theirs)
            self.ships.append(Ship(own=own, other=other, positions=theirs if by_layer else None))
            learning |= {id(parameter) for parameter in (*own.blocks.parameters(), *by_layer)}
        self.swapped = [[True] * ship.own.part.depth for ship in self.ships]
        for parameter in successor.parameters():
            parameter.requires_grad_(id(parameter) in learning)

    def kept(self) -> Iterator[tuple[str, nn.Parameter]]:
        """As the successor names them, so that its layers are known as such."""
        return self.successor.kept()

    def carried(self) -> dict[str, Tensor]:
        return {"steps": torch.tensor([self.steps])}

    def carry_on(self, carried: dict[str, Tensor]) -> None:
        self.steps = int(carried["steps"][0])

    def before_step(self, progress: float) -> None:
        """Draw which modules are replaced in this step."""
        chance = self.replacement.probability(steps=self.steps, progress=progress)
        self.swapped = [_drawn(ship.own.part.depth, chance) for ship in self.ships]

    def after_step(self, steps: int) -> None:
        self.steps = steps

    def counts(self, batch: Batch) -> dict[str, int]:
        return self.successor.counts(batch)

    def flops(self, batch: Batch) -> int:
        with routed(*self._routes()):
            return self.successor.flops(batch)

    def losses(self, batch: Batch) -> dict[str, Loss]:
        with routed(*self._routes()):
            return self.successor.losses(batch)

    def _routes(self) -> list[tuple[Stack, Route]]:
        return [(ship.own, ship.route(swapped)) for ship, swapped in zip(self.ships, self.swapped, strict=True)]


def _drawn(modules: int, chance: float) -> list[bool]:
    """Which are replaced: each with its chance, and at least one, for a step without any would teach nothing."""
    swapped: list[bool] = (torch.rand(modules) < chance).tolist()
    if not any(swapped):
        swapped[int(torch.randint(modules, ()))] = True
    return swapped


def _positions(model: Model) -> list[PositionModule]:
    first = model.embedding.position
    return [first, model.decoder_embedding.position] if isinstance(model, EncoderDecoderModel) else [first]


def _by_layer(own: nn.Module, other: nn.Module) -> list[nn.Parameter]:
    """What a position scheme has for each layer: there is more of it where there are more layers."""
    mine, theirs = (Counter(_NUMBER.sub("", name) for name, _ in one.named_parameters()) for one in (own, other))
    return [parameter for name, parameter in own.named_parameters() if mine[group := _NUMBER.sub("", name)] != theirs[group]]
