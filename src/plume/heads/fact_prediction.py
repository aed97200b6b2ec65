"""Fact prediction (Facts as Experts, arXiv:2007.00849 §3): the entity of a hidden mention, from its context and from facts that it may ask."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.core.knowledge import Knowledge
from plume.core.part import replace
from plume.heads.entity_prediction import EntityPrediction, EntityPredictionModule
from plume.heads.head import Dims, Loss, precise
from plume.nn.knowledge.entity_memory import NAMED
from plume.nn.knowledge.facts import KeyedFacts
from plume.nn.knowledge.knowing import Knowing


@dataclass(frozen=True, kw_only=True)
class FactPrediction(EntityPrediction):
    """Beside the context's answer a memory of facts: a key for each subject and relation, and its objects' mean as the value.

    One further key is of no fact, and its probability λ is the context's share of the answer: λ · context + Σ probability · value, times
    every entity's vector. With `inverse` a fact may be asked from its object too. Which key is right nobody says: one whose subject the row
    shows and whose objects hold the answer (distant supervision), none where there is no such fact.
    """

    needs_knowledge: ClassVar[bool] = True
    reads_arrays: ClassVar[tuple[str, ...]] = ("triples",)

    relations: int = 10_000
    inverse: bool = True

    def for_knowledge(self, knowledge: Knowledge) -> FactPrediction:
        return replace(self, relations=max(len(knowledge.relations), 1))

    def build(self, dims: Dims) -> FactPredictionModule:
        return FactPredictionModule(self, dims)


class HiddenMentionAnswer(NamedTuple):
    """What is said of each hidden mention."""

    scores: Tensor  # [N, entities]
    keys: Tensor  # [N, keys + 1] log-probabilities of what was asked; the last one is that of no fact, log λ


class FactPredictionModule(EntityPredictionModule, Knowing):
    """`Target.index` is a hidden mention's first token, `Target.context` [N, 1] its last, `Target.feature` how many tokens it has."""

    def __init__(self, part: FactPrediction, dims: Dims) -> None:
        super().__init__(dims)
        self.part = part
        width = self.entity.embedding_dim
        self.relation = nn.Embedding(part.relations * (2 if part.inverse else 1), width)
        self.subject_key = nn.Linear(width, width)
        self.relation_key = nn.Linear(width, width, bias=False)
        self.ask = nn.Linear(2 * dims.width, width)
        self.none = nn.Embedding(1, width)
        for item in fields(KeyedFacts):
            self.register_buffer(f"known_{item.name}", torch.zeros(0, dtype=torch.long), persistent=False)

    @torch.no_grad()
    def initialise(self) -> None:
        """As long as the entities' vectors, and kept so by what makes keys of them."""
        width = self.entity.embedding_dim
        for part in (self.relation, self.none, self.subject_key, self.relation_key):
            nn.init.normal_(part.weight, std=width**-0.5)

    @property
    def facts(self) -> KeyedFacts:
        """Those that may be asked."""
        return KeyedFacts(**{item.name: getattr(self, f"known_{item.name}") for item in fields(KeyedFacts)})

    def know(self, knowledge: Knowledge) -> None:
        triples = torch.from_numpy(knowledge.array("triples").astype("int64"))
        made = KeyedFacts.of(triples, relations=self.part.relations, inverse=self.part.inverse)
        for item in fields(KeyedFacts):
            setattr(self, f"known_{item.name}", getattr(made, item.name).to(self.none.weight.device))

    def respond(self, ends: Tensor) -> HiddenMentionAnswer:
        """[N, 2D] states at both ends of each hidden mention."""
        facts, entity = self.facts, self.entity.weight
        subject, relation = self.subject_key(entity), self.relation_key(self.relation.weight)
        keys = torch.cat([subject[facts.subject] + relation[facts.relation], self.none.weight])
        asked = precise(self.ask(ends) @ keys.t()).log_softmax(-1)
        share = asked.exp().to(entity.dtype)
        found = share[:, :-1] @ facts.values(entity)
        return HiddenMentionAnswer((share[:, -1:] * self.query(ends) + found) @ entity.t(), asked)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.respond(hidden).scores

    def flops(self, predictions: int) -> int:
        width, entities, keys = self.entity.embedding_dim, self.entity.num_embeddings, len(self.facts)
        once = (entities + self.relation.num_embeddings) * width * width
        each = self.query.weight.numel() + self.ask.weight.numel() + (2 * keys + 1 + entities) * width
        return 2 * (once + predictions * each)

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        """Of the answer, and of having asked a right key."""
        scores, asked = self.respond(self.asked(encoded, target))
        right = asked.masked_fill(~self._right_keys(encoded.named[NAMED], target), float("-inf")).logsumexp(-1)
        total = F.cross_entropy(precise(scores), target.value, reduction="sum") - right.sum()
        return Loss(total=total, count=len(target.value), correct=(scores.detach().argmax(-1) == target.value).sum())

    def _right_keys(self, named: Tensor, target: Target) -> Tensor:
        """[N, keys + 1]; `named` [B, T] are the entities of the rows' mentions, of which the hidden ones do not count as subjects."""
        assert target.feature is not None, "the noise says how long a mention is"
        shown = named.flatten().clone()
        place = torch.arange(int(target.feature.max()) if len(target.feature) else 0, device=shown.device)
        inside = place < target.feature[:, None]
        shown[(target.index[:, None] + place)[inside]] = -1
        return self.facts.leading(shown.view_as(named), target.index // named.shape[1], target.value, entities=self.entity.num_embeddings)
