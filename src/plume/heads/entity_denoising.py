"""Entity denoising: which of the batch's entities a mention is of (ERNIE of Tsinghua, arXiv:1905.07129 §3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.core.knowledge import Knowledge
from plume.heads.head import Dims, Head, HeadModule, Loss, at, precise
from plume.nn.knowledge.fused import CANDIDATE_VECTORS, CANDIDATES, links_shown


@dataclass(frozen=True, kw_only=True)
class EntityDenoising(Head):
    """A linear layer to the width of the entities' vectors, and the product with those of all entities that the batch mentions (eq. 5)."""

    of_tokens: ClassVar[bool] = False
    reads_arrays: ClassVar[tuple[str, ...]] = ("vectors",)

    entity_width: int = 100

    def for_knowledge(self, knowledge: Knowledge) -> EntityDenoising:
        return replace(self, entity_width=int(knowledge.array("vectors").shape[1]))

    def build(self, dims: Dims) -> EntityDenoisingModule:
        return EntityDenoisingModule(self, dims)


class EntityDenoisingModule(HeadModule):
    """The candidates, and their vectors, are what the network left (`Encoded.named`)."""

    def __init__(self, part: EntityDenoising, dims: Dims) -> None:
        super().__init__()
        self.output = nn.Linear(dims.width, part.entity_width)

    def logits(self, hidden: Tensor) -> Tensor:
        made: Tensor = self.output(hidden)
        return made

    def step_flops(self, predictions: int, named: Mapping[str, Tensor]) -> int:
        _, candidates = links_shown(named)
        count = 0 if candidates is None else len(candidates)
        return super().step_flops(predictions, named) + 2 * 2 * predictions * count * self.output.out_features  # the vectors learn nothing

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        projected = self.logits(at(encoded, target))
        if not len(target.value):
            return Loss(total=projected.sum(), count=0, correct=torch.zeros((), dtype=torch.long, device=projected.device))
        scores = precise(projected @ encoded.named[CANDIDATE_VECTORS].t())
        answer = torch.searchsorted(encoded.named[CANDIDATES], target.value)
        right = (scores.detach().argmax(-1) == answer).sum()
        return Loss(total=F.cross_entropy(scores, answer, reduction="sum"), count=len(answer), correct=right)
