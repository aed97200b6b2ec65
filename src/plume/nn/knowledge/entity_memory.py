"""Entity memory (Entities as Experts, arXiv:2004.07202 §2): each mention asks a table of entities, and what it finds is added to its first token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.knowledge import Knowledge
from plume.core.part import replace
from plume.nn.attention import Sight
from plume.nn.between import Between, BetweenModule
from plume.nn.knowledge.mentions import BEGINS, INSIDE, MentionEnds, marked, tagged, wholly_seen

MENTIONS = "mentions"  # the batch's array of what is mentioned where
ASKED = "asked"  # … and of a mention that is nobody's yet, but of which someone wants to know
SCORES, FIRST, LAST, TAGS, NAMED = (
    "entity_scores",
    "entity_first",
    "entity_last",
    "mention_tags",
    "entity_ids",
)  # what it leaves for the heads


@dataclass(frozen=True, kw_only=True)
class EntityMemory(Between):
    """A vector for each entity of a knowledge base, found by the states at both ends of a mention.

    In training every entity may answer, at use the `top` ones. Where a batch does not say what it mentions, mentions are found by three
    tags a token (outside, begins, inside), which are learned beside.
    """

    needs_knowledge: ClassVar[bool] = True
    links: ClassVar[bool] = True

    entities: int = 1_000_000
    width: int = 256
    top: int = 100
    epsilon: float = 1e-12

    def __post_init__(self) -> None:
        if min(self.entities, self.width, self.top) < 1:
            raise PlumeError(
                f"A memory has entities of some width, at least one: not {self.entities} of width {self.width}, top={self.top}."
            )

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        if not any(one.name == MENTIONS for one in recipe.carries):
            yield f"{type(self).__name__} learns from mentions, which its rows do not carry; set layout.carries=(SpanField(name='mentions'),)."

    def for_knowledge(self, knowledge: Knowledge) -> EntityMemory:
        return replace(self, entities=len(knowledge.entities))

    def shrunk(self, width: int) -> EntityMemory:
        return replace(self, entities=min(self.entities, 10_000), width=max(16, width // 2))

    def build(self, width: int) -> EntityMemoryModule:
        return EntityMemoryModule(self, width)


class EntityMemoryModule(BetweenModule):
    """softmax(W [first; last] · entities) · entities, back to the states' width at the first token, and a norm over all."""

    def __init__(self, part: EntityMemory, width: int) -> None:
        super().__init__()
        self.part = part
        self.entity = nn.Embedding(part.entities, part.width)
        self.query = nn.Linear(2 * width, part.width)
        self.value = nn.Linear(part.width, width)
        self.detect = nn.Linear(width, 3)
        self.norm = nn.LayerNorm(width, eps=part.epsilon)

    @torch.no_grad()
    def initialise(self) -> None:
        """Vectors of length one: shorter ones are all alike to what asks, and slow to become different."""
        nn.init.normal_(self.entity.weight, std=self.part.width**-0.5)

    def forward(self, value: Tensor, sight: Sight) -> Tensor:
        tags = self.detect(value)
        given = sight.named.get(MENTIONS)
        ends = self._ends(tags, sight) if given is None else marked(given)
        rows = value.reshape(-1, value.shape[-1])
        scores = self.query(torch.cat([rows[ends.first], rows[ends.last]], -1)) @ self.entity.weight.t()
        answer = self.value(self._recalled(scores, every=self.training and given is not None))
        added = torch.zeros_like(rows).index_copy(0, ends.first, answer.to(rows.dtype))
        sight.left |= {SCORES: scores, FIRST: ends.first, LAST: ends.last, TAGS: tags}
        if given is not None:
            sight.left[NAMED] = given
        result: Tensor = self.norm(value + added.view_as(value))
        return result

    def _ends(self, tags: Tensor, sight: Sight) -> MentionEnds:
        found, asked = tags.argmax(-1), sight.named.get(ASKED)
        if asked is not None:  # what is asked about is a mention for itself; one that was found around it ends there
            there = asked >= 0
            begins = there & (asked != F.pad(asked[:, :-1], (1, 0), value=-1))
            behind = F.pad(there[:, :-1], (1, 0)) & (found == INSIDE)
            found = torch.where(there, INSIDE - begins.long(), torch.where(behind, BEGINS, found))
        ends = tagged(found, sight.length)
        seen = wholly_seen(ends, sight.mask, found.shape[1])
        return ends if seen is None else MentionEnds(first=ends.first[seen], last=ends.last[seen])

    def _recalled(self, scores: Tensor, *, every: bool) -> Tensor:
        """[S, E] the mean of entities by their probabilities."""
        top = self.part.top
        if every or top >= scores.shape[1]:
            return scores.softmax(-1) @ self.entity.weight
        best = scores.topk(top, dim=-1)
        return torch.einsum("sk,ske->se", best.values.softmax(-1), self.entity.weight[best.indices])

    def entities(self) -> nn.Embedding:
        return self.entity

    def flops(self, *, rows: int, time: int) -> int:
        return 2 * rows * time * self.detect.weight.numel()

    def batch_flops(self, batch: Batch) -> int:
        """Mentions that a batch marks; how many others will be found, nobody knows before."""
        given = batch.named.get(MENTIONS)
        mentions = 0 if given is None else len(marked(torch.as_tensor(given)).first)
        return 2 * mentions * (self.query.weight.numel() + self.value.weight.numel() + 2 * self.entity.weight.numel())
