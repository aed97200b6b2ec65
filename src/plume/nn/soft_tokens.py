"""Soft tokens: vectors that are learned and stand in a row as a token's do (arXiv:2103.10385 §3, arXiv:2104.08691 §2)."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.core.errors import PlumeError
from plume.core.part import Part

_ENOUGH = 1_000  # tokens that show how far vectors spread


class SoftEncoder(enum.StrEnum):
    """What makes the vectors: they are learned themselves, or a small network computes them, which ties them to each other."""

    PLAIN = "plain"
    MLP = "mlp"
    LSTM = "lstm"  # read both ways, then an MLP (P-tuning §3.2)


@dataclass(frozen=True, kw_only=True)
class SoftTokens(Part):
    """So many; `start` are the ids of tokens whose vectors they start from, in turn. Empty: from random ones of the same spread."""

    count: int = 6
    encoder: SoftEncoder = SoftEncoder.PLAIN
    start: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise PlumeError(f"At least one token must be learned, not {self.count}.")

    def build(self, token: nn.Embedding, width: int) -> SoftTokensModule:
        """`token` looks up the vectors of a model's own tokens, `width` wide."""
        return SoftTokensModule(self, token, width)


class SoftTokensModule(nn.Module):
    """What `SoftTokens` builds."""

    def __init__(self, part: SoftTokens, token: nn.Embedding, width: int) -> None:
        super().__init__()
        self.part, self.width = part, width
        with torch.no_grad():
            known: Tensor = token(torch.arange(min(token.num_embeddings, _ENOUGH)))
            spread = float(known.std())
            start = torch.tensor([part.start[place % len(part.start)] for place in range(part.count)]) if part.start else None
            self.table = nn.Parameter(torch.randn(part.count, width) * spread if start is None else token(start).clone())  # [N, E]
        self.layers = self._layers(width, spread)

    def _layers(self, width: int, spread: float) -> nn.ModuleDict:
        if self.part.encoder is SoftEncoder.PLAIN:
            return nn.ModuleDict()
        with torch.no_grad():
            self.table.div_(max(spread, 1e-6))  # what reads it starts as for numbers around one
        made = nn.ModuleDict({"inner": nn.Linear(width, width), "output": nn.Linear(width, width)})
        if self.part.encoder is SoftEncoder.LSTM:
            half = -(-width // 2)
            made["reader"] = nn.LSTM(width, half, num_layers=2, bidirectional=True, batch_first=True)
            made["inner"] = nn.Linear(2 * half, width)
        return made

    def forward(self) -> Tensor:
        """[N, E] the vectors."""
        value: Tensor = self.table
        if "reader" in self.layers:
            value = self.layers["reader"](value[None])[0][0]
        if "inner" in self.layers:
            value = self.layers["output"](torch.relu(self.layers["inner"](value)))
        return value

    def flops(self) -> int:
        """Of the matrix products of one forward pass, two a multiply-add."""
        return 2 * self.part.count * sum(parameter.numel() for parameter in self.layers.parameters() if parameter.ndim > 1)
