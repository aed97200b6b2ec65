"""Vectors of entities that were made before and stay as they are, and attention over few places."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from plume.core.knowledge import Knowledge
from plume.nn.dropout import dropout
from plume.nn.knowledge.knowing import Knowing


class EntityVectors(Knowing):
    """A table that a knowledge base brings (TransE's): nothing of it is learned here."""

    table: Tensor

    def __init__(self, entities: int, width: int) -> None:
        super().__init__()
        self.register_buffer("table", torch.zeros(entities, width), persistent=False)

    def know(self, knowledge: Knowledge) -> None:
        vectors = torch.as_tensor(knowledge.array("vectors"))
        self.table = vectors.to(self.table)

    def forward(self, entity: Tensor) -> Tensor:
        """[...] ids, negative ones for none, to [..., E]; none is zero."""
        return self.table[entity.clamp(min=0)] * (entity >= 0)[..., None]


class EntityAttention(nn.Module):
    """Scaled dot-product attention over the places that are there, with a projection back; positions do not enter."""

    def __init__(self, *, width: int, heads: int, drop: float = 0.0) -> None:
        super().__init__()
        self.heads, self.drop = heads, drop
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, asking: Tensor, seen: Tensor, there: Tensor) -> Tensor:
        """[B, Q, E] look at [B, K, E] where [B, K] `there`; a row with nothing there looks at zeros."""
        query, key, value = (self._split(one) for one in (self.query(asking), self.key(seen), self.value(seen)))
        scores = torch.matmul(query / math.sqrt(query.shape[-1]), key.transpose(-1, -2))  # [B, H, Q, K]
        hidden = ~there[:, None, None, :]
        least = torch.finfo(scores.dtype).min  # not minus infinity, which over a whole row is no number
        probability = scores.masked_fill(hidden, least).softmax(-1).masked_fill(hidden, 0.0)
        mixed = torch.matmul(dropout(probability, self.drop, training=self.training), value)
        made: Tensor = self.output(mixed.transpose(1, 2).reshape(asking.shape))
        return made

    def flops(self, *, rows: int, queries: int, keys: int) -> int:
        """Of the matrix products of one forward pass, two a multiply-add."""
        width = self.query.in_features
        return 2 * rows * (width * width * (2 * queries + 2 * keys) + 2 * queries * keys * width)

    def _split(self, value: Tensor) -> Tensor:
        return value.view(*value.shape[:2], self.heads, -1).transpose(1, 2)


def gathered(there: Tensor) -> tuple[Tensor, Tensor]:
    """[B, T] marks to [B, M] places, in order, and [B, M] which of them are marked: rows with fewer than M are filled up."""
    most = int(there.sum(1).max())
    place = torch.argsort((~there).to(torch.int8), dim=1, stable=True)[:, :most]
    return place, there.gather(1, place)


def mention_starts(mentions: Tensor) -> Tensor:
    """[B, T] entity ids, −1 for none, to where each mention begins."""
    before = nn.functional.pad(mentions[:, :-1], (1, 0), value=-1)
    return (mentions >= 0) & (mentions != before)
