"""Token vectors within -1 and 1, of which whole channels are dropped (DeepMoji, arXiv:1708.00524 §3.2)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from plume.nn.dropout import ChannelDropout
from plume.nn.embedding import Embedding, EmbeddingModule
from plume.nn.positions.scheme import PositionModule


@dataclass(frozen=True, kw_only=True)
class BoundedEmbedding(Embedding):
    """The tanh of a table; `dropout` takes features from all words of a row at once: in a short text one lost word may turn the tone."""

    def build(self, *, vocabulary: int, positions: PositionModule, token: nn.Embedding | None = None) -> BoundedEmbeddingModule:
        return BoundedEmbeddingModule(self, token=token or self.table(vocabulary), positions=positions)


class BoundedEmbeddingModule(EmbeddingModule):
    """What a `BoundedEmbedding` builds."""

    def __init__(self, part: BoundedEmbedding, *, token: nn.Embedding, positions: PositionModule) -> None:
        super().__init__(part, token=token, positions=positions)
        self.dropout = ChannelDropout(part.dropout)

    def vectors(self, tokens: Tensor, unseen: Tensor | None) -> Tensor:
        return super().vectors(tokens, unseen).tanh()
