"""Two learned positions at the input: where a span was cut out, and the place inside it (GLM, arXiv:2103.10360 §2.2)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from plume.nn.positions.scheme import PositionModule, PositionScheme


class TwoDimensionalPositions(PositionModule):
    """Two tables: the place in the text, and the place inside a span."""

    def __init__(self, *, rows: int, inner_rows: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, width)
        self.inner = nn.Embedding(inner_rows, width)

    def at_input(self, position: Tensor, within: Tensor | None) -> Tensor:
        found: Tensor = self.table(position)
        return found + (self.inner.weight[0] if within is None else self.inner(within))


@dataclass(frozen=True, kw_only=True)
class TwoDimensional(PositionScheme):
    """The second position is 0 in the text and 1 … l + 1 in a span of l tokens and its end; the authors' tables have a row to spare."""

    longest: int = 512
    longest_span: int | None = None  # None: as long as the input

    def build(self, *, width: int, heads: int, head_width: int, depth: int, causal: bool = False) -> PositionModule:
        inner = self.longest + 1 if self.longest_span is None else self.longest_span + 2
        return TwoDimensionalPositions(rows=self.longest + 1, inner_rows=inner, width=width)
