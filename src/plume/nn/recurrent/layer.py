"""One recurrent layer, and layers of one shape that run together. Time-major: N layers, T time, B batch, P output, H width."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from plume.nn.dropout import dropout
from plume.nn.recurrent.rows import State
from plume.nn.recurrent.steps import gru_steps, lstm_steps

if TYPE_CHECKING:
    from plume.nn.recurrent.recurrent import Recurrent


class RecurrentCell(enum.StrEnum):
    """The kind of recurrence."""

    LSTM = "lstm"
    GRU = "gru"

    @property
    def gates(self) -> int:
        """Blocks of rows in its matrices."""
        return 4 if self is RecurrentCell.LSTM else 3


class Start(enum.StrEnum):
    """How the matrices begin; biases are zero, but for the forget gate's."""

    UNIFORM = "uniform"  # within ±initial_range, or ±1/sqrt(width) where that is None: torch's, AWD-LSTM's
    GLOROT = "glorot"  # uniform by the sum of both sides: TensorFlow's, ELMo's
    ORTHOGONAL = "orthogonal"  # each gate's recurrent matrix; the others uniform (Skip-Thought, arXiv:1506.06726 §3)


class RecurrentLayer(nn.Module):
    """One layer, time-major: [T, B, E] to [T, B, P]."""

    def __init__(self, part: Recurrent, *, input_width: int, width: int) -> None:
        super().__init__()
        self.part, self.width, self.output_width = part, width, part.projection or width
        gates = part.cell.gates * width
        self.input = nn.Parameter(torch.empty(gates, input_width))
        self.recurrent = nn.Parameter(torch.empty(gates, self.output_width))
        self.bias = nn.Parameter(torch.empty(gates))
        self.projection = nn.Parameter(torch.empty(part.projection, width)) if part.projection else None
        self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """First weights, as the part says."""
        part = self.part
        matrices = [matrix for matrix in (self.input, self.recurrent, self.projection) if matrix is not None]
        spread = 1.0 / math.sqrt(self.width) if part.initial_range is None else part.initial_range
        for matrix in matrices:
            nn.init.xavier_uniform_(matrix) if part.start is Start.GLOROT else nn.init.uniform_(matrix, -spread, spread)
        if part.start is Start.ORTHOGONAL:
            for gate in self.recurrent.chunk(part.cell.gates):
                nn.init.orthogonal_(gate)
        nn.init.zeros_(self.bias)
        if part.cell is RecurrentCell.LSTM:
            self.bias[2 * self.width : 3 * self.width] = part.forget_bias

    def start(self, rows: int) -> State:
        """The state before the first token: zeros."""
        hidden, cell = (self.bias.new_zeros(rows, width) for width in (self.output_width, self.width))
        return State(hidden=hidden, cell=cell if self.part.cell is RecurrentCell.LSTM else None)

    def forward(self, value: Tensor, state: State | None = None, given: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """All outputs, and an LSTM's cells [T, B, H]. `given` [B, G] is added to the gates at every step (Skip-Thought's decoder)."""
        outputs, cells = run_layers([self], value[None], None if state is None else [state], given)
        return outputs[0], None if cells is None else cells[0]

    def dropped(self) -> Tensor:
        """The recurrent matrix, in training with some weights left out."""
        return dropout(self.recurrent, self.part.weight_drop, training=self.training)

    def flops(self, *, rows: int, time: int) -> int:
        """Of the matrix products of one forward pass."""
        weights = self.input.numel() + self.recurrent.numel() + (0 if self.projection is None else self.projection.numel())
        return 2 * rows * time * weights


def run_layers(
    layers: Sequence[RecurrentLayer], value: Tensor, states: Sequence[State] | None = None, given: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Layers of one shape, each with its input of [N, T, B, E], step by step together: [N, T, B, P] and an LSTM's cells [N, T, B, H]."""
    if torch.is_autocast_enabled(value.device.type):  # rounding would add up over the steps
        with torch.autocast(value.device.type, enabled=False):
            return run_layers(layers, value.float(), states, None if given is None else given.float())
    states = states or [layer.start(value.shape[2]) for layer in layers]
    bias, weights = _stacked([layer.bias for layer in layers]), _stacked([layer.input for layer in layers])
    gates = torch.baddbmm(bias[:, None], value.flatten(1, 2), weights.mT).view(*value.shape[:3], -1)
    if given is not None:
        gates = gates + given
    hidden = [state.hidden for state in states]
    if layers[0].part.cell is RecurrentCell.GRU:
        return torch.stack([gru_steps(gates[i], recurrent=layer.dropped(), hidden=hidden[i]) for i, layer in enumerate(layers)]), None
    return lstm_steps(
        gates,
        recurrent=_stacked([layer.dropped() for layer in layers]),
        projection=None if layers[0].projection is None else _stacked([layer.projection for layer in layers]),
        hidden=_stacked(hidden),
        cell=_stacked([state.cell for state in states]),
        cell_clip=layers[0].part.cell_clip,
        projection_clip=layers[0].part.projection_clip,
    )


def _stacked(tensors: Sequence[Tensor | None]) -> Tensor:
    """[N, …]; of one tensor a view."""
    present = [tensor for tensor in tensors if tensor is not None]
    return present[0][None] if len(present) == 1 else torch.stack(present)
