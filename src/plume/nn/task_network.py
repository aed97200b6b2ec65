"""The network that a task trains on top of features that stay as they are: ELMo's layers, static word vectors (arXiv:1802.05365 §3.3)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.nn.recurrent.bidirectional import Bidirectional
from plume.nn.recurrent.recurrent import Recurrent


@dataclass(frozen=True, kw_only=True)
class TaskNetwork(Part):
    """A bidirectional LSTM; `width` is that of one direction. With depth 0 there is none: features go through as they are.

    >>> TaskNetwork(width=100).build(1024).output_width
    200
    """

    width: int = 200
    depth: int = 1
    dropout: float = 0.5  # of what enters the LSTM, of what passes between its layers, and of what leaves it

    def __post_init__(self) -> None:
        if self.width < 1 or self.depth < 0:
            raise PlumeError(f"A task network needs a width of at least 1 and a depth of at least 0, not {self.width} and {self.depth}.")
        if not 0 <= self.dropout < 1:
            raise PlumeError(f"A task network's dropout is a share from 0 to below 1, not {self.dropout}.")

    def build(self, input_width: int) -> TaskNetworkModule:
        """The network, for states of that width."""
        return TaskNetworkModule(self, input_width=input_width)


class TaskNetworkModule(nn.Module):
    """What a `TaskNetwork` builds."""

    def __init__(self, part: TaskNetwork, *, input_width: int) -> None:
        super().__init__()
        self.part = part
        self.output_width = 2 * part.width if part.depth else input_width
        self.network = _bidirectional(part).build(input_width) if part.depth else None

    def forward(self, features: Tensor, length: Tensor | None = None) -> Tensor:
        """[B, T, D] to [B, T, output_width]. Rows are padded on the right from `length` [B] on; there the LSTM's outputs are zero."""
        if self.network is None:
            return features
        outputs: Tensor = self.network(features, length=length).last
        return outputs

    def flops(self, *, rows: int, time: int) -> int:
        """Of the matrix products of one forward pass."""
        return 0 if self.network is None else self.network.flops(rows=rows, time=time)


def _bidirectional(part: TaskNetwork) -> Bidirectional:
    drop = part.dropout
    # The forget gates' bias of 1 lets cells remember from the first step on (Jozefowicz et al. 2015): a task has few steps to learn it.
    one_way = Recurrent(width=part.width, depth=part.depth, dropout=drop, input_dropout=drop, output_dropout=drop, forget_bias=1.0)
    return Bidirectional(network=one_way)
