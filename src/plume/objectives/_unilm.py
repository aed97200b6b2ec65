"""What UniLM's language models share (arXiv:1905.03197 §2.3): hidden tokens, as in a masked LM, in rows and an order of their own."""

from __future__ import annotations

from plume.core.batch import Order
from plume.core.part import replace
from plume.data.layouts.layout import Layout
from plume.heads.head import Head
from plume.noise.noise import Noise
from plume.noise.select import Select
from plume.objectives._objective import Objective
from plume.objectives.masked_lm import masked_lm


def hidden_in_order(
    name: str, *, order: Order, layout: Layout, select: Select, segments: tuple[int, ...], head: Head, head_of: str | None, weight: float
) -> Objective:
    """A masked LM that sees its rows in `order` only."""
    hidden = masked_lm(head=head, weight=weight)
    noise = replace(hidden.noise or Noise(), select=select, order=order, segments=segments)
    return replace(hidden, name=name, paper="arXiv:1905.03197", noise=noise, layout=layout, head_of=head_of)
