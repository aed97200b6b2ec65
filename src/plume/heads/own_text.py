"""Own text: which of the batch's second texts belongs to each first one, by the product of their vectors (arXiv:1906.00300 §4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from plume.core.batch import Encoded, Target
from plume.heads.head import Dims, Head, HeadModule, Loss, precise
from plume.nn.gathering import everyones, shared


@dataclass(frozen=True, kw_only=True)
class OwnText(Head):
    """A softmax over all second texts of the batch; nothing is learned here, both vectors come from the retriever."""

    def build(self, dims: Dims) -> OwnTextModule:
        return OwnTextModule()


class OwnTextModule(HeadModule):
    """`Encoded.last` has the vectors of the first texts, `Encoded.read` those of the second: [B, 1, p] each."""

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        assert encoded.read is not None, "the network gives both vectors"
        own = len(target.value)
        scores = self.logits(torch.stack([everyones(encoded.last[:, 0], dim=0), everyones(encoded.read[:, 0], dim=0)]))
        answers = torch.arange(len(scores), device=scores.device)
        whole = F.cross_entropy(precise(scores), answers, reduction="sum")
        further = {"guessing": torch.tensor(own * math.log(len(scores)))}
        correct = (scores.argmax(-1) == answers).sum() * (own / len(scores))
        return Loss(total=shared(whole, own=own, rows=len(scores)), count=own, correct=correct, further=further)

    def logits(self, hidden: Tensor) -> Tensor:
        """[2, B, p] to [B, B]: how well each second text answers each first."""
        return hidden[0] @ hidden[1].T

    def flops(self, predictions: int) -> int:
        return 0  # of vectors whose width the network knows
