"""Classification of a text from all of its tokens, each with a weight that is learned (DeepMoji, arXiv:1708.00524 §3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss
from plume.nn.dropout import Dropout


@dataclass(frozen=True, kw_only=True)
class AttentionClassification(Head):
    """A row's states, averaged with the softmax of their product with one vector as weights, then a linear layer."""

    reads_rows: ClassVar[bool] = True

    classes: int = 2
    dropout: float = 0.0

    def build(self, dims: Dims) -> AttentionClassificationModule:
        return AttentionClassificationModule(self, dims)


class AttentionClassificationModule(HeadModule):
    """The vector that weighs tokens, and the linear layer."""

    def __init__(self, part: AttentionClassification, dims: Dims) -> None:
        super().__init__()
        self.attention = nn.Embedding(1, dims.width)  # one vector, which starts as small as all weights: at first every token counts alike
        self.dropout = Dropout(part.dropout)
        self.output = nn.Linear(dims.width, part.classes)

    def weights(self, rows: Tensor, length: Tensor) -> Tensor:
        """[N, T] of each token, from [N, T, D] states and [N] lengths; they sum to 1, and padding has none."""
        outside = torch.arange(rows.shape[1], device=rows.device) >= length[:, None]
        return (rows * self.attention.weight[0]).sum(-1).masked_fill(outside, float("-inf")).softmax(-1)

    def pool(self, rows: Tensor, length: Tensor) -> Tensor:
        """[N, T, D] states and [N] lengths to [N, D]."""
        return (self.weights(rows, length)[..., None] * rows).sum(1)

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., D] averaged states to [..., classes]."""
        scores: Tensor = self.output(self.dropout(hidden))
        return scores

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        assert target.context is not None and target.feature is not None, "the collator names the row's positions and its length"
        states = encoded.last.reshape(-1, encoded.last.shape[-1])
        rows = states.index_select(0, target.context.flatten()).view(*target.context.shape, -1)
        scores = self.logits(self.pool(rows, target.feature))
        total = F.cross_entropy(scores.float() if scores.dtype.itemsize < 4 else scores, target.value, reduction="sum")
        classes = torch.bincount(target.value, minlength=scores.shape[-1])
        return Loss(total=total, count=len(target.value), correct=(scores.detach().argmax(-1) == target.value).sum(), classes=classes)
