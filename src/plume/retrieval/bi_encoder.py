"""BiEncoder: the trainable of dense retrieval: questions and passages read by one network, or by one each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from plume.core.batch import Batch
from plume.model.networks.model import Model
from plume.nn.pooling import Pooling
from plume.sentences.losses import ContrastLoss
from plume.sentences.network import ContrastModel, rows_of


class BiEncoder(ContrastModel):
    """`body` reads passages, `asking` questions; None: the body reads both. Of a batch's rows the first of every `views` are questions, which are
    read by themselves: they are much shorter."""

    def __init__(
        self, body: Model, asking: Model | None, loss: ContrastLoss, *, views: int, pooling: Pooling | None = None, parts: int = 1
    ) -> None:
        super().__init__(body, loss, pooling=pooling, parts=parts)
        self.views = views
        self.asking = None if asking is None else ContrastModel(asking, loss, pooling=pooling)

    def sides(self, batch: Batch) -> tuple[Batch, Batch]:
        """The questions and the passages of a batch, each as wide as it has to be."""
        rows = torch.arange(len(batch.tokens), device=batch.tokens.device)
        first = len(rows) // self.views
        return narrowed(rows_of(batch, rows[:first])), narrowed(rows_of(batch, rows[first:]))

    def _read(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        questions, passages = self.sides(batch)
        reader = self if self.asking is None else self.asking
        return torch.cat([reader.vectors(questions), self.vectors(passages)]), None

    def flops(self, batch: Batch) -> int:
        first, width = len(batch.tokens) // self.views, batch.tokens.shape[1]
        asked = width if batch.length is None else int(batch.length[:first].max())
        plain = replace(batch, labels={}, length=None, rank=None, position=None, segment=None)
        sides = batch.tokens[:first, :asked], batch.tokens[first:]
        read = sum(self.body.body_flops(replace(plain, tokens=tokens)) for tokens in sides)
        return read * 4 // 3 if self.parts > 1 else read


def narrowed(batch: Batch) -> Batch:
    """Without the columns that are padding in every row."""
    if batch.length is None:
        return batch
    time, width = int(batch.length.max()), batch.tokens.shape[1]
    arrays: dict[str, Any] = {name: getattr(batch, name) for name in ("tokens", "rank", "position", "segment")}
    cut = {name: array[:, :time] for name, array in arrays.items() if array is not None and array.ndim == 2 and array.shape[1] == width}
    named = {name: array[:, :time] for name, array in batch.named.items()}
    return replace(batch, **cut, named=named, length=batch.length if int(batch.length.min()) < time else None)
