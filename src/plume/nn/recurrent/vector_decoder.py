"""A recurrent decoder that is told one vector: Skip-Thought's."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.nn.recurrent.layer import RecurrentCell, RecurrentLayer, Start
from plume.nn.recurrent.recurrent import Recurrent
from plume.nn.recurrent.rows import State


class Conditioning(enum.StrEnum):
    """How a decoder learns of the sentence vector."""

    GATES = "gates"  # added to both gates and the candidate at every step, by C_r, C_z and C (arXiv:1506.06726 §2.1, eq. 5–7)
    STATE = "state"  # it is the state to begin with: so the code that was published


@dataclass(frozen=True, kw_only=True)
class VectorDecoder(Part):
    """Skip-Thought's GRU decoder of a neighbouring sentence, given the vector of this one (arXiv:1506.06726 §2.1).

    C enters the candidate beside the input, outside the reset gate, so that all three are one product added to the input's: exact. As in the
    published code the reset gate acts on the product U h; the paper writes U (r ⊙ h).
    """

    width: int = 2400
    conditioning: Conditioning = Conditioning.GATES
    initial_range: float = 0.1

    def build(self, input_width: int, *, vector_width: int) -> VectorDecoderModule:
        """The decoder, for inputs and vectors of these widths."""
        return VectorDecoderModule(self, input_width=input_width, vector_width=vector_width)


class VectorDecoderModule(nn.Module):
    """What a `VectorDecoder` builds: a recurrent layer that is told a vector at every step."""

    def __init__(self, part: VectorDecoder, *, input_width: int, vector_width: int) -> None:
        super().__init__()
        if part.conditioning is Conditioning.STATE and vector_width != part.width:
            raise PlumeError(f"A vector of {vector_width} cannot be the first state of a decoder of width {part.width}.")
        gru = Recurrent(cell=RecurrentCell.GRU, width=part.width, depth=1, start=Start.ORTHOGONAL, initial_range=part.initial_range)
        self.part = part
        self.layer = RecurrentLayer(gru, input_width=input_width, width=part.width)
        gates = part.conditioning is Conditioning.GATES
        self.condition = nn.Linear(vector_width, 3 * part.width, bias=False) if gates else None  # C_r, C_z, C
        self.initialise()

    def initialise(self) -> None:
        """First weights, as the paper's code draws them."""
        self.layer.initialise()
        if self.condition is not None:
            nn.init.uniform_(self.condition.weight, -self.part.initial_range, self.part.initial_range)

    def forward(self, value: Tensor, vector: Tensor, *, state: State | None = None) -> tuple[Tensor, State]:
        """The sentence to be written [B, T, E], as it should be, and the vector [B, K] it is written from, to [B, T, D] and the state.

        `state` goes on from an earlier call with the same vector. Padding behind a sentence changes nothing before it.
        """
        if state is None and self.condition is None:
            state = State(hidden=vector)
        given = None if self.condition is None else self.condition(vector)
        outputs, _ = self.layer(value.transpose(0, 1).contiguous(), state, given)
        return outputs.transpose(0, 1), State(hidden=outputs[-1])

    def flops(self, *, rows: int, time: int) -> int:
        """Of the matrix products of one forward pass."""
        return self.layer.flops(rows=rows, time=time) + (0 if self.condition is None else 2 * rows * self.condition.weight.numel())
