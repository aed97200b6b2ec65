"""Token, segment and position vectors, summed (BERT §3, arXiv:1810.04805)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from plume.core.part import Part
from plume.nn.dropout import Dropout
from plume.nn.factorised import FactorisedTokens
from plume.nn.positions.scheme import PositionModule


@dataclass(frozen=True, kw_only=True)
class Embedding(Part):
    """`width` may be smaller than the network's: then the network projects it up (ALBERT's factorisation, ELECTRA)."""

    width: int = 768
    segments: int = 0
    norm: bool = True
    scaled: bool = False  # token vectors times sqrt(width), as in arXiv:1706.03762 §3.4
    dropout: float = 0.1
    word_dropout: float = 0.0  # of whole words, the same ones in all of a batch (AWD-LSTM, arXiv:1708.02182 §4.3)
    epsilon: float = 1e-12
    initial_range: float | None = None  # of the token vectors; None: as the network's weights. T5's start at 1
    factorised: int | None = None  # width of the token table alone, times a matrix up to `width` (nn/factorised.py); None: as wide as that

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if self.factorised is not None and not 1 <= self.factorised <= self.width:
            yield f"token vectors of width {self.width} are made of narrower ones: embedding.factorised={self.factorised} is not 1 to {self.width}."

    def table(self, vocabulary: int) -> nn.Embedding:
        """Of token vectors."""
        if self.factorised is not None:
            return FactorisedTokens(vocabulary, self.factorised, self.width)
        return nn.Embedding(vocabulary, self.width)

    def build(self, *, vocabulary: int, positions: PositionModule, token: nn.Embedding | None = None) -> EmbeddingModule:
        """`token` shares another embedding's vectors (a decoder's with its encoder's)."""
        return EmbeddingModule(self, token=token or self.table(vocabulary), positions=positions)


class EmbeddingModule(nn.Module):
    """What an `Embedding` builds: token, position and segment vectors of a row, summed."""

    def __init__(self, part: Embedding, *, token: nn.Embedding, positions: PositionModule) -> None:
        super().__init__()
        self.token = token
        self.scale = math.sqrt(part.width) if part.scaled else 1.0
        self.word_dropout = part.word_dropout
        self.segment = nn.Embedding(part.segments, part.width) if part.segments else None
        self.position = positions
        self.norm = nn.LayerNorm(part.width, eps=part.epsilon) if part.norm else None
        self.dropout = Dropout(part.dropout)
        self.initial_range = part.initial_range

    @torch.no_grad()
    def initialise(self) -> None:
        """Other first token vectors, where the paper has them."""
        if self.initial_range is not None:
            nn.init.normal_(self.token.weight, std=self.initial_range)
        if isinstance(self.token, FactorisedTokens):
            self.token.initialise()

    def product_flops(self, tokens: int) -> int:
        """Of the one product there is, where the table is narrow."""
        return 2 * tokens * self.token.widen.weight.numel() if isinstance(self.token, FactorisedTokens) else 0

    def vectors(self, tokens: Tensor, unseen: Tensor | None) -> Tensor:
        """[B, T] ids to [B, T, E]; `unseen` spells words that only a vocabulary of characters knows."""
        value: Tensor = self.token(tokens)
        if self.training and self.word_dropout:
            kept = torch.rand(self.token.num_embeddings, 1, device=tokens.device) >= self.word_dropout
            value = value * (kept.to(value.dtype) / (1 - self.word_dropout))[tokens]
        return value

    def _with_extra(self, tokens: Tensor, extra: Tensor) -> Tensor:
        behind = tokens - self.token.num_embeddings
        known = self.vectors(tokens.masked_fill(behind >= 0, 0), None)
        return torch.where((behind >= 0)[..., None], extra[behind.clamp(min=0)].to(known.dtype), known)

    def forward(
        self,
        tokens: Tensor,
        position: Tensor,
        segment: Tensor | None,
        within: Tensor | None = None,
        unseen: Tensor | None = None,
        extra: Tensor | None = None,
    ) -> Tensor:
        """[B, T] ids to [B, T, E]. `extra` [U, E] are the vectors of ids behind the vocabulary, given and not looked up."""
        value = self.vectors(tokens, unseen) if extra is None else self._with_extra(tokens, extra)
        if self.scale != 1.0:
            value = value * self.scale
        at_input = self.position.at_input(position, within)
        if at_input is not None:
            value = value + at_input.to(value.dtype)
        if self.segment is not None:
            value = value + (self.segment.weight[0] if segment is None else self.segment(segment))
        if self.norm is not None:
            value = self.norm(value)
        return self.dropout(value)


def positions_of(tokens: Tensor, position: Tensor | None) -> Tensor:
    """[B or 1, T]: what the batch says, or 0, 1, 2 …"""
    return torch.arange(tokens.shape[1], device=tokens.device)[None] if position is None else position
