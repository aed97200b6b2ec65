"""Token, segment and position vectors, summed (BERT §3, arXiv:1810.04805)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from plume.core.part import Part
from plume.nn.dropout import Dropout
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

    def build(self, *, vocabulary: int, positions: PositionModule, token: nn.Embedding | None = None) -> EmbeddingModule:
        """`token` shares another embedding's vectors (a decoder's with its encoder's)."""
        return EmbeddingModule(self, token=token or nn.Embedding(vocabulary, self.width), positions=positions)


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

    def vectors(self, tokens: Tensor, unseen: Tensor | None) -> Tensor:
        """[B, T] ids to [B, T, E]; `unseen` spells words that only a vocabulary of characters knows."""
        value: Tensor = self.token(tokens)
        if self.training and self.word_dropout:
            kept = torch.rand(self.token.num_embeddings, 1, device=tokens.device) >= self.word_dropout
            value = value * (kept.to(value.dtype) / (1 - self.word_dropout))[tokens]
        return value

    def forward(
        self, tokens: Tensor, position: Tensor, segment: Tensor | None, within: Tensor | None = None, unseen: Tensor | None = None
    ) -> Tensor:
        """[B, T] ids to [B, T, E]."""
        value = self.vectors(tokens, unseen)
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
