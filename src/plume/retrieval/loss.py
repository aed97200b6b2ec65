"""PassageLoss: which of all passages of a batch answers the question (DPR, arXiv:2004.04906, eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from plume.heads.head import precise
from plume.sentences.losses import ContrastLoss, Views, no_negatives
from plume.vectors.sentence import Similarity


@dataclass(frozen=True, kw_only=True)
class PassageLoss(ContrastLoss):
    """Views are the questions, their passages, and hard negatives of each.

    A passage that answers several questions of a batch is no negative of any of them, nor is one that another row has for the same question.
    """

    similarity: Similarity = Similarity.COSINE
    scale: float = 20.0
    in_batch: bool = True  # are the passages of the others negatives? Else only a question's own

    def __call__(self, views: Views) -> Tensor:
        if self.similarity is Similarity.COSINE:
            return self.mean(views.normalised())
        return self.mean(replace(views, vectors=precise(views.vectors)))

    def mean(self, views: Views) -> Tensor:
        asked, passages = views.vectors[0], views.vectors[1:].flatten(0, 1)  # [N, D], [(K - 1) N, D]
        hidden = no_negatives(views.text[0], views.text[1], views.text[1:].flatten())
        own = torch.arange(len(asked), device=asked.device)
        if not self.in_batch:
            hidden = hidden | (own.repeat(len(views.vectors) - 1) != own[:, None])
        hidden[own, own] = False
        return F.cross_entropy((self.scale * asked @ passages.T).masked_fill(hidden, float("-inf")), own)
