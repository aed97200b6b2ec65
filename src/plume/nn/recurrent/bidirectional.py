"""A stack whose layers read both ways, each the two outputs of the one below joined: CoVe's encoder (arXiv:1708.00107 §3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part, replace
from plume.nn.dropout import dropout
from plume.nn.recurrent.recurrent import Recurrent, RecurrentOutput, RecurrentStack, run_together
from plume.nn.recurrent.rows import State


@dataclass(frozen=True, kw_only=True)
class Bidirectional(Part):
    """`network` is that of one direction: its output is half of what a layer makes.

    >>> Bidirectional(network=Recurrent(width=300, depth=2)).output_width
    600
    """

    network: Recurrent = Recurrent(width=300, depth=2, initial_range=0.1, dropout=0.2)

    def __post_init__(self) -> None:
        if self.network.residual or self.network.output or self.network.locked:
            raise PlumeError(
                "Layers that read both ways have one width, no residual and no locked dropout: leave out output, residual, locked."
            )

    @property
    def output_width(self) -> int:
        """Of both directions side by side."""
        return 2 * self.network.output_width

    def build(self, input_width: int) -> BidirectionalStack:
        """The layers, for inputs of that width."""
        return BidirectionalStack(self, input_width=input_width)


class BidirectionalStack(nn.Module):
    """What a `Bidirectional` builds: pairs of recurrent layers, one a direction."""

    def __init__(self, part: Bidirectional, *, input_width: int) -> None:
        super().__init__()
        self.part = part
        layer = replace(part.network, depth=1, dropout=0.0, input_dropout=0.0, output_dropout=0.0)
        widths = [input_width] + [part.output_width] * (part.network.depth - 1)
        self.onward, self.back = (nn.ModuleList(layer.build(width) for width in widths) for _ in range(2))

    def initialise(self) -> None:
        """First weights, as the recurrent part says."""
        for pair in self._pairs():
            for stack in pair:
                stack.initialise()

    def forward(self, value: Tensor, *, length: Tensor | None = None, keep_layers: bool = False) -> RecurrentOutput:
        """[B, T, E] to [B, T, 2 D]. The state of a layer joins that after the last token read onward and after the first read back."""
        layers, states = [], []
        for index, pair in enumerate(self._pairs()):
            network = self.part.network
            value = dropout(
                value, network.dropout if index else network.input_dropout, training=self.training
            )  # the same for both directions
            made = run_together(pair, [value, value], length=length, reverse=[False, True])
            value = torch.cat([one.last for one in made], dim=2)
            states.append(_joined(made[0].state[0], made[1].state[0]))
            layers.append(value)
        last = dropout(value, self.part.network.output_dropout, training=self.training)
        return RecurrentOutput(last=last, state=tuple(states), layers=tuple(layers) if keep_layers else ())

    def flops(self, *, rows: int, time: int) -> int:
        """Of the matrix products of one forward pass."""
        return sum(stack.flops(rows=rows, time=time) for pair in self._pairs() for stack in pair)

    def _pairs(self) -> list[tuple[RecurrentStack, RecurrentStack]]:
        return list(zip(self.onward, self.back, strict=True))  # type: ignore[arg-type]


def _joined(onward: State, back: State) -> State:
    cells = [state.cell for state in (onward, back) if state.cell is not None]
    return State(hidden=torch.cat([onward.hidden, back.hidden], 1), cell=torch.cat(cells, 1) if cells else None)
