"""Entity prediction (Entities as Experts, arXiv:2004.07202 §2.3): which entity a mention is of, by the states at its two ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.core.errors import PlumeError
from plume.heads.head import Dims, Head, HeadModule, Loss, precise
from plume.nn.knowledge.entity_memory import FIRST, SCORES, TAGS


@dataclass(frozen=True, kw_only=True)
class EntityPrediction(Head):
    """The states at both ends, brought to the entities' width, times every entity's vector: those of the memory between the blocks."""

    of_tokens: ClassVar[bool] = False

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if not any(one.links for one in getattr(recipe.network, "between", ())):
            yield f"{name} chooses among the entities of a memory, and the network has none; set network.between=(EntityMemory(after=4),)."

    def build(self, dims: Dims) -> HeadModule:
        return EntityPredictionModule(dims)


class EntityPredictionModule(HeadModule):
    """`Target.index` is a mention's first token, `Target.context` [N, 1] its last."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        if dims.entity is None:
            raise PlumeError("This network has no vectors of entities to choose among: put an EntityMemory between its blocks.")
        self.entity = dims.entity
        self.query = nn.Linear(2 * dims.width, dims.entity.embedding_dim)

    def flops(self, predictions: int) -> int:
        return super().flops(predictions) + 2 * predictions * self.entity.weight.numel()

    def asked(self, encoded: Encoded, target: Target) -> Tensor:
        """[N, 2D] both ends of each mention."""
        return both_ends(encoded, target)

    def logits(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.query(hidden) @ self.entity.weight.t()
        return scores

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        return entity_loss(self.logits(self.asked(encoded, target)), target)


def both_ends(encoded: Encoded, target: Target) -> Tensor:
    """[N, 2D] the states at the first and the last token of each mention."""
    assert target.context is not None, "a mention has two ends"
    states = encoded.last.reshape(-1, encoded.last.shape[-1])
    first = target.index if target.slot is None else target.slot
    return torch.cat([states[first], states[target.context[:, 0]]], -1)


def entity_loss(scores: Tensor, target: Target) -> Loss:
    """Cross-entropy over all entities."""
    total = F.cross_entropy(precise(scores), target.value, reduction="sum")
    return Loss(total=total, count=len(target.value), correct=(scores.detach().argmax(-1) == target.value).sum())


@dataclass(frozen=True, kw_only=True)
class EntityLinking(EntityPrediction):
    """The same at the memory: what each mention was given there is to be what it is linked to."""

    def build(self, dims: Dims) -> HeadModule:
        return EntityLinkingModule()


class EntityLinkingModule(HeadModule):
    """Reads the scores that the memory left; it has no weights of its own."""

    def flops(self, predictions: int) -> int:
        return 0

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        place = torch.searchsorted(encoded.named[FIRST], target.index)
        return entity_loss(encoded.named[SCORES][place], target)


@dataclass(frozen=True, kw_only=True)
class MentionDetection(EntityPrediction):
    """Where mentions are: outside, begins, inside, by the states that the memory reads."""

    def build(self, dims: Dims) -> HeadModule:
        return MentionDetectionModule()


class MentionDetectionModule(HeadModule):
    """Reads the tags that the memory left; it has no weights of its own."""

    def flops(self, predictions: int) -> int:
        return 0

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        return entity_loss(encoded.named[TAGS].flatten(0, 1)[target.index], target)
