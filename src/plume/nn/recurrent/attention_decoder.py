"""A recurrent decoder that looks at a source: CoVe's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.nn.dropout import dropout
from plume.nn.recurrent.layer import RecurrentLayer
from plume.nn.recurrent.recurrent import Recurrent
from plume.nn.recurrent.rows import State


@dataclass(frozen=True, kw_only=True)
class AttentionDecoder(Part):
    """LSTM layers that attend to a source, and read what they made of it at the step before (Luong et al., arXiv:1508.04025 §3).

    As CoVe has it (arXiv:1708.00107 §3): h_t = LSTM([z_{t-1}; h̃_{t-1}]), α = softmax(H (W1 h_t + b1)), h̃ = tanh(W2 [Hᵀα; h_t] + b2).
    The code it was trained with has neither b1 nor b2: `bias=False`.
    """

    width: int = 600  # of the states, of the source's states and of h̃
    depth: int = 2
    dropout: float = 0.2
    bias: bool = True
    initial_range: float = 0.1

    def __post_init__(self) -> None:
        if self.width < 1 or self.depth < 1:
            raise PlumeError(f"A decoder needs a width and a depth of at least 1, not {self.width} and {self.depth}.")

    def build(self, input_width: int) -> AttentionDecoderModule:
        """The decoder, for inputs of that width."""
        return AttentionDecoderModule(self, input_width=input_width)


@dataclass(frozen=True, kw_only=True)
class DecoderState:
    """What goes from step to step: each layer's state, and h̃ [B, D]."""

    layers: tuple[State, ...]
    attended: Tensor

    def pick(self, rows: Tensor) -> DecoderState:
        """Keep these rows, in this order."""
        return DecoderState(layers=tuple(state.pick(rows) for state in self.layers), attended=self.attended[rows])


class AttentionDecoderModule(nn.Module):
    """What an `AttentionDecoder` builds."""

    def __init__(self, part: AttentionDecoder, *, input_width: int) -> None:
        super().__init__()
        self.part, width = part, part.width
        layer = Recurrent(width=width, depth=1, initial_range=part.initial_range)
        self.input_width = input_width
        inputs = [input_width + width] + [width] * (part.depth - 1)
        self.layers = nn.ModuleList(RecurrentLayer(layer, input_width=wide, width=width) for wide in inputs)
        self.ask = nn.Linear(width, width, bias=part.bias)  # W1
        self.combine = nn.Linear(2 * width, width, bias=part.bias)  # W2
        self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """First weights of its layers and of the attention."""
        for layer in self._layers:
            layer.initialise()
        for linear in (self.ask, self.combine):
            nn.init.uniform_(linear.weight, -self.part.initial_range, self.part.initial_range)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    @property
    def _layers(self) -> Sequence[RecurrentLayer]:
        return self.layers  # type: ignore[return-value]

    def start(self, states: Sequence[State]) -> DecoderState:
        """From the encoder's last states, a layer each; the first h̃ is zero. A bidirectional encoder's are joined by the caller."""
        if len(states) != len(self.layers):
            raise PlumeError(f"A decoder of {len(self.layers)} layers was given the states of {len(states)}.")
        return DecoderState(layers=tuple(states), attended=torch.zeros_like(states[0].hidden))

    def step(self, value: Tensor, state: DecoderState, *, source: Tensor, length: Tensor | None = None) -> tuple[Tensor, DecoderState]:
        """One token [B, E] each: h̃ [B, D] and the state after it. source [B, S, D], of which `length` [B] are no padding."""
        return self._step(self._of_tokens(value[None])[0], state, source=source, hidden=_padding(source, length))

    def forward(self, value: Tensor, state: DecoderState, *, source: Tensor, length: Tensor | None = None) -> tuple[Tensor, DecoderState]:
        """The whole target [B, T, E], as it should be (teacher forcing), to all h̃ [B, T, D]. Padding behind a target changes nothing before."""
        value = dropout(value, self.part.dropout, training=self.training)
        hidden, made = _padding(source, length), []
        for gates in self._of_tokens(value.transpose(0, 1)):
            attended, state = self._step(gates, state, source=source, hidden=hidden)
            made.append(attended)
        return torch.stack(made, dim=1), state

    def _of_tokens(self, value: Tensor) -> Tensor:
        """[T, B, G] what the tokens add to the first layer's gates: one product for all steps."""
        first = self._layers[0]
        return F.linear(value, first.input[:, : self.input_width], first.bias)

    def _step(self, gates: Tensor, state: DecoderState, *, source: Tensor, hidden: Tensor | None) -> tuple[Tensor, DecoderState]:
        drop = self.part.dropout
        fed = dropout(state.attended, drop, training=self.training)
        states = []
        for index, (layer, before) in enumerate(zip(self._layers, state.layers, strict=True)):
            entering = layer.input[:, self.input_width :] if index == 0 else layer.input
            known = gates if index == 0 else layer.bias
            gated = known + F.linear(torch.cat([fed, before.hidden], 1), torch.cat([entering, layer.recurrent], 1))
            states.append(_lstm_step(gated, before))
            fed = states[-1].hidden if index + 1 == len(self.layers) else dropout(states[-1].hidden, drop, training=self.training)
        looks = torch.bmm(source, self.ask(fed)[:, :, None]).squeeze(2)  # [B, S]
        if hidden is not None:
            looks = looks.masked_fill(hidden, -math.inf)
        context = torch.bmm(looks.softmax(1)[:, None], source).squeeze(1)
        attended = torch.tanh(self.combine(torch.cat([context, fed], 1)))
        attended = dropout(attended, drop, training=self.training)
        return attended, DecoderState(layers=tuple(states), attended=attended)

    def flops(self, *, rows: int, time: int, source: int) -> int:
        """Of the matrix products of one forward pass."""
        recurrent = sum(layer.flops(rows=rows, time=time) for layer in self._layers)
        width = self.part.width
        return recurrent + 2 * rows * time * (3 * width * width + 2 * source * width)


def _lstm_step(gates: Tensor, before: State) -> State:
    assert before.cell is not None, "a decoder's layers are LSTMs"
    opens, enters, keeps, new = gates.chunk(4, dim=1)
    cell = keeps.sigmoid() * before.cell + enters.sigmoid() * new.tanh()
    return State(hidden=opens.sigmoid() * cell.tanh(), cell=cell)


def _padding(source: Tensor, length: Tensor | None) -> Tensor | None:
    """[B, S] true where the source has no token."""
    return None if length is None else torch.arange(source.shape[1], device=source.device) >= length[:, None]
