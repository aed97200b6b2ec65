"""Rows of different lengths in a recurrent network, and what is carried on from their ends. Time-major: [T, B, D]."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class State:
    """What one layer carries on: its output [B, P] and, for an LSTM, its cell [B, H]."""

    hidden: Tensor
    cell: Tensor | None = None

    def detach(self) -> State:
        """The same without its history: gradients end here."""
        return State(hidden=self.hidden.detach(), cell=None if self.cell is None else self.cell.detach())

    def pick(self, rows: Tensor) -> State:
        """Other rows, in this order: beams that go on."""
        return State(hidden=self.hidden[rows], cell=None if self.cell is None else self.cell[rows])


def from_the_end(value: Tensor, length: Tensor | None) -> Tensor:
    """[T, B] where each step of a row of [B, T, D] read from its end stands; the padding stays behind. It is its own inverse."""
    time = torch.arange(value.shape[1], device=value.device)[:, None]
    if length is None:
        return time.flip(0).expand(-1, len(value))
    return torch.where(time < length, length - 1 - time, time)


def arranged(value: Tensor, order: Tensor | None) -> Tensor:
    """[T, B, D] each row's steps in the given order [T, B]; None: as they are."""
    return value if order is None else value.gather(0, order[:, :, None].expand(-1, -1, value.shape[2]))


def placed(value: Tensor, order: Tensor | None, length: Tensor | None) -> Tensor:
    """[T, B, D] as read, to [B, T, D] as the text stands."""
    if length is not None:
        value = value * (torch.arange(len(value), device=value.device)[:, None] < length)[:, :, None]
    return arranged(value, order).transpose(0, 1)


def at_end(outputs: Tensor, cells: Tensor | None, before: State, length: Tensor | None) -> State:
    """The state after each row's last token; a row without tokens keeps the one before."""
    if length is None:
        return State(hidden=outputs[-1], cell=None if cells is None else cells[-1])
    rows = torch.arange(len(length), device=outputs.device)
    hidden = torch.where(length[:, None] > 0, outputs[(length - 1).clamp(min=0), rows], before.hidden)
    if cells is None or before.cell is None:
        return State(hidden=hidden)
    return State(hidden=hidden, cell=torch.where(length[:, None] > 0, cells[(length - 1).clamp(min=0), rows], before.cell))
