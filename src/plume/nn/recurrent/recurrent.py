"""Recurrent networks: LSTM (with projection and clipping, as ELMo's) and GRU, a stack of layers read in one direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from plume.core.batch import Order
from plume.core.errors import PlumeError
from plume.nn.dropout import dropout, keep_mask
from plume.nn.network import Network
from plume.nn.positions.scheme import NoPositions
from plume.nn.recurrent.layer import RecurrentCell, RecurrentLayer, Start, run_layers
from plume.nn.recurrent.rows import State, arranged, at_end, from_the_end, placed


@dataclass(frozen=True, kw_only=True)
class Recurrent(Network):
    """`width` is that of the state; `projection` makes the output narrower (LSTMP, arXiv:1402.1128).

    >>> elmo = Recurrent(width=4096, depth=2, projection=512, cell_clip=3.0, projection_clip=3.0, residual=True, forget_bias=1.0)
    >>> elmo.output_width
    512
    """

    cell: RecurrentCell = RecurrentCell.LSTM
    width: int = 512
    depth: int = 2
    projection: int | None = None
    output: int | None = None  # the last layer's width; None: as the others (AWD-LSTM: 1150, 1150, then the embedding's 400)
    cell_clip: float | None = None
    projection_clip: float | None = None
    residual: bool = False  # from the second layer on a layer's input is added to its output (ELMo, bilm-tf)
    dropout: float = 0.0  # between layers
    input_dropout: float = 0.0
    output_dropout: float = 0.0
    locked: bool = False  # one dropout mask for all steps of a row (arXiv:1708.02182 §4.1)
    weight_drop: float = 0.0  # DropConnect on the recurrent matrices, one mask for all steps and rows (arXiv:1708.02182 §2)
    forget_bias: float = 0.0
    activity: float = 0.0  # penalty on the last layer's squared states, in training (arXiv:1708.02182 §4.6)
    slowness: float = 0.0  # and on their squared change from token to token
    start: Start = Start.UNIFORM
    initial_range: float | None = None

    def __post_init__(self) -> None:
        for name in ("width", "depth"):
            if getattr(self, name) < 1:
                raise PlumeError(f"A recurrent network needs a {name} of at least 1, not {getattr(self, name)}.")
        for name in ("projection", "output", "cell_clip", "projection_clip"):
            if (value := getattr(self, name)) is not None and value <= 0:
                raise PlumeError(f"A recurrent network's {name} must be above 0, or None for none; it is {value}.")
        for name in ("dropout", "input_dropout", "output_dropout", "weight_drop"):
            if not 0 <= getattr(self, name) < 1:
                raise PlumeError(f"A recurrent network's {name} is a share from 0 to below 1, not {getattr(self, name)}.")
        if self.cell is RecurrentCell.GRU and (self.projection or self.cell_clip):
            raise PlumeError("A GRU has no cell to clip and no projection: leave out projection and cell_clip, or take cell=lstm.")
        if self.projection_clip and not self.projection:
            raise PlumeError("projection_clip clips what a projection makes: set projection, or leave it out.")
        if self.output and self.projection:
            raise PlumeError("Every layer's output has the width of the projection: set output or projection, not both.")
        if self.residual and self.output not in (None, self.width):
            raise PlumeError(f"A residual adds layers of one width, but output is {self.output} and width {self.width}.")

    @property
    def output_width(self) -> int:
        return self.projection or self.output or self.width

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if not isinstance(recipe.positions, NoPositions):
            yield "a recurrent network knows the order of tokens by reading them; set positions=NoPositions()."
        if recipe.memory is not None:
            yield "a recurrent network carries its state on by itself; leave memory out."
        for kind in recipe.kinds:
            hidden = kind.noise
            if recipe.assembly.both_ways:
                if hidden.order is not Order.FULL or hidden.target.decoder:
                    yield f"{kind.name} must not see what it predicts, and {type(recipe.assembly).__name__} reads from both ends."
            elif not hidden.target.decoder and (hidden.order is not Order.CAUSAL or hidden.corrupt.shows_mask):
                yield f"{kind.name} sees both sides of what it predicts, and a recurrent network reads from one end to the other."

    def build(self, input_width: int) -> RecurrentStack:
        """The layers, for inputs of that width."""
        return RecurrentStack(self, input_width=input_width)


@dataclass(frozen=True, kw_only=True)
class RecurrentOutput:
    """What a recurrent stack makes of its rows."""

    last: Tensor  # [B, T, D] of the last layer, after dropout
    state: tuple[State, ...]  # of each layer at each row's last token
    layers: tuple[Tensor, ...] = ()  # [B, T, D] of each layer before dropout, on demand


class RecurrentStack(nn.Module):
    """What a `Recurrent` builds: its layers, one above the other."""

    def __init__(self, part: Recurrent, *, input_width: int) -> None:
        super().__init__()
        self.part = part
        widths = [part.width] * (part.depth - 1) + [part.output or part.width]
        inputs = [input_width] + [part.projection or part.width] * (part.depth - 1)
        self.layers = nn.ModuleList(RecurrentLayer(part, input_width=wide, width=width) for wide, width in zip(inputs, widths, strict=True))

    def layer(self, index: int) -> RecurrentLayer:
        """One of them, from 0."""
        layer = self.layers[index]
        assert isinstance(layer, RecurrentLayer)
        return layer

    def initialise(self) -> None:
        """First weights of every layer."""
        for index in range(len(self.layers)):
            self.layer(index).initialise()

    def forward(
        self,
        value: Tensor,
        *,
        state: Sequence[State] | None = None,
        length: Tensor | None = None,
        reverse: bool = False,
        keep_layers: bool = False,
    ) -> RecurrentOutput:
        """[B, T, E] to [B, T, D]. Rows are padded on the right from `length` [B] on; there the outputs are zero.

        `reverse` reads each row from its own last token to its first; outputs stay in the places of their tokens. The state is that after
        the last token read: it may be handed on to the next call, detached where gradients shall end.
        """
        states = None if state is None else [state]
        return run_together([self], [value], states=states, length=length, reverse=[reverse], keep_layers=keep_layers)[0]

    def flops(self, *, rows: int, time: int) -> int:
        """Of the matrix products of one forward pass."""
        return sum(self.layer(index).flops(rows=rows, time=time) for index in range(len(self.layers)))


def run_together(
    stacks: Sequence[RecurrentStack],
    values: Sequence[Tensor],
    *,
    states: Sequence[Sequence[State]] | None = None,
    length: Tensor | None = None,
    reverse: Sequence[bool],
    keep_layers: bool = False,
) -> list[RecurrentOutput]:
    """Networks of one shape that do not read each other, as `RecurrentStack.forward` each, but step by step side by side: ELMo's directions.

    Each has its own input [B, T, E], its own state and says which way it reads; the rows' lengths are the same.
    """
    part, depth, training = stacks[0].part, len(stacks[0].layers), stacks[0].training
    for state in states or ():
        if len(state) != depth:
            raise PlumeError(f"A state for {len(state)} layers was given to a network of {depth}.")
    orders = [from_the_end(value, length) if turned else None for value, turned in zip(values, reverse, strict=True)]
    value = torch.stack([arranged(value.transpose(0, 1), order) for value, order in zip(values, orders, strict=True)])  # [N, T, B, E]
    value = _drop(value, part.input_dropout, locked=part.locked, training=training)
    ends: list[list[State]] = [[] for _ in stacks]
    kept: list[list[Tensor]] = [[] for _ in stacks]
    for index in range(depth):
        if index:
            value = _drop(value, part.dropout, locked=part.locked, training=training)
        layers = [stack.layer(index) for stack in stacks]
        before = [layer.start(value.shape[2]) for layer in layers] if states is None else [state[index] for state in states]
        outputs, cells = run_layers(layers, value, before)
        value = outputs + value if part.residual and index else outputs
        for number, order in enumerate(orders):
            ends[number].append(at_end(outputs[number], None if cells is None else cells[number], before[number], length))
            if keep_layers:
                kept[number].append(placed(value[number], order, length))
    value = _drop(value, part.output_dropout, locked=part.locked, training=training)
    return [
        RecurrentOutput(last=placed(value[number], order, length), state=tuple(ends[number]), layers=tuple(kept[number]))
        for number, order in enumerate(orders)
    ]


def _drop(value: Tensor, probability: float, *, locked: bool, training: bool) -> Tensor:
    """[N, T, B, D]; locked: all steps of a row lose the same features."""
    if not (locked and training and probability):
        return dropout(value, probability, training=training)
    mask, scale = keep_mask(value[:, 0], probability)
    return value * (mask * scale)[:, None]
