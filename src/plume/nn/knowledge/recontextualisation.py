"""Knowledge attention and recontextualisation (KAR; KnowBERT, arXiv:1909.04164 §3.3): a linker between two blocks, whose entities the tokens read.

Each name in a text comes with what it may mean and how likely that is. A mention is pooled from its tokens, mentions look at each other, each is
held against its candidates, and the mean of these by their scores is added to it; then the tokens look at the mentions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.knowledge import Knowledge
from plume.nn.activation import Activation
from plume.nn.between import Between, BetweenModule
from plume.nn.block import FeedForward
from plume.nn.knowledge.knowing import Knowing
from plume.nn.knowledge.vectors import EntityAttention, EntityVectors, gathered

if TYPE_CHECKING:
    from plume.nn.attention import Sight

FORMS = "forms"  # of the batch's arrays: which name each token belongs to, −1 none, −2 and −3 one of whose tokens is hidden
SCORES, MEANINGS, PLACES = "candidate_scores", "candidate_entities", "candidate_places"  # left for the head: [N, C], [N, C], [N] in B·T


@dataclass(frozen=True, kw_only=True)
class KnowledgeAttention(Between):
    """`threshold`: candidates that score less are dropped, and where none is left the mention is of no entity (Wikipedia's); None: all are
    weighed (WordNet's). `most`: candidates of a name, the likeliest."""

    needs_knowledge: ClassVar[bool] = True
    reads_arrays: ClassVar[tuple[str, ...]] = ("vectors", "candidates", "priors", "names")

    entities: int = 0
    entity_width: int = 200
    names: int = 0
    most: int = 1
    heads: int = 4
    feed_forward: int = 1024
    scorer: int = 100  # neurons of the layer that reads product and prior
    threshold: float | None = None
    dropout: float = 0.1
    epsilon: float = 1e-12

    def __post_init__(self) -> None:
        if self.entity_width % self.heads:
            raise PlumeError(
                f"Entity vectors of width {self.entity_width} do not divide into {self.heads} heads: set heads of KnowledgeAttention."
            )

    def for_knowledge(self, knowledge: Knowledge) -> KnowledgeAttention:
        names, most = knowledge.array("candidates").shape
        width = int(knowledge.array("vectors").shape[1])
        return replace(self, entities=len(knowledge.entities), entity_width=width, names=int(names), most=int(most))

    def shrunk(self, width: int) -> KnowledgeAttention:
        return replace(self, feed_forward=2 * width, dropout=0.0)

    def build(self, width: int) -> KnowledgeAttentionModule:
        return KnowledgeAttentionModule(self, width)


class NameMeanings(Knowing):
    """What each name may mean [F, C], the likeliest first, −1 behind the last; and how likely each is [F, C]."""

    entity: Tensor
    prior: Tensor

    def __init__(self, names: int, most: int) -> None:
        super().__init__()
        self.register_buffer("entity", torch.full((names, most), -1), persistent=False)
        self.register_buffer("prior", torch.zeros(names, most), persistent=False)

    def know(self, knowledge: Knowledge) -> None:
        self.entity = torch.as_tensor(knowledge.array("candidates")).to(self.entity)
        self.prior = torch.as_tensor(knowledge.array("priors")).to(self.prior)


class NamedPlaces(NamedTuple):
    """The names of a batch: [B, T] which of its row's names a token belongs to (−1: none); [B, M] the first token of each, and which are there."""

    number: Tensor
    place: Tensor
    there: Tensor

    @classmethod
    def of(cls, forms: Tensor) -> NamedPlaces:
        """A name is an unbroken run of one number."""
        starts = (forms != -1) & (forms != nn.functional.pad(forms[:, :-1], (1, 0), value=-1))
        place, there = gathered(starts)
        return cls(number=torch.where(forms == -1, -1, starts.long().cumsum(1) - 1), place=place, there=there)


class KnowledgeAttentionModule(BetweenModule):
    """Its block of mentions and its look of tokens at mentions are blocks of their own, narrow as the entities' vectors."""

    def __init__(self, part: KnowledgeAttention, width: int) -> None:
        super().__init__()
        inner = part.entity_width
        self.part = part
        self.vectors = EntityVectors(part.entities, inner)
        self.candidates = NameMeanings(part.names, part.most)
        # In the place of a hidden name's meaning; and where no candidate is left, which there always is without a threshold.
        self.instead = nn.Embedding(1 if part.threshold is None else 2, inner)
        self.project, self.back = nn.Linear(width, inner), nn.Linear(inner, width)
        self.pool = nn.Linear(inner, 1, bias=False)  # a softmax does not notice a bias
        self.mentions, self.tokens = (_NarrowBlock(part) for _ in range(2))
        self.score = nn.Sequential(nn.Linear(2, part.scorer), nn.ReLU(), nn.Linear(part.scorer, 1))
        self.norm_mentions, self.norm = nn.LayerNorm(inner, eps=part.epsilon), nn.LayerNorm(width, eps=part.epsilon)

    @torch.no_grad()
    def initialise(self) -> None:
        """The way back begins as the pseudo-inverse of the way in, so that what no entity changes comes back as it was, as far as it fits."""
        inverse = torch.linalg.pinv(self.project.weight.double()).to(self.back.weight)
        self.back.weight.copy_(inverse)
        self.back.bias.copy_(-(inverse @ self.project.bias))

    def forward(self, value: Tensor, sight: Sight) -> Tensor:
        forms = sight.named.get(FORMS)
        if forms is None or forms.shape[1] != value.shape[1] or not bool((forms != -1).any()):
            return value
        names = NamedPlaces.of(forms)
        states = self.project(value)  # [B, T, E]
        spans = self.mentions(self._pooled(states, names), None, names.there)
        meanings, scores = self._scored(spans, forms, names)
        flat = torch.arange(len(forms), device=forms.device)[:, None] * forms.shape[1] + names.place
        sight.left |= {SCORES: scores[names.there], MEANINGS: meanings[names.there], PLACES: flat[names.there]}
        if self.alone:
            return value
        knowing = self.norm_mentions(spans + self._meant(scores, meanings, forms, names))
        read = self.tokens(states, knowing, names.there)
        made: Tensor = self.norm(value + self.back(read))
        # A row without names is left alone.
        return torch.where(names.there.any(1)[:, None, None], made, value)

    def _pooled(self, states: Tensor, names: NamedPlaces) -> Tensor:
        """[B, M, E] each name's tokens by a softmax over them (arXiv:1707.07045 eq. 5)."""
        rows, most = names.place.shape
        inside, number = names.number >= 0, names.number.clamp(min=0)
        raw = self.pool(states)[..., 0].masked_fill(~inside, torch.finfo(states.dtype).min)
        top = raw.new_full((rows, most), torch.finfo(raw.dtype).min).scatter_reduce(1, number, raw.detach(), "amax")
        weight = torch.where(inside, (raw - top.gather(1, number)).exp(), 0.0)
        total = weight.new_zeros(rows, most).scatter_add(1, number, weight)
        share = weight / total.gather(1, number).clamp(min=1e-12)
        wide = number[..., None].expand(-1, -1, states.shape[2])
        return states.new_zeros(rows, most, states.shape[2]).scatter_add(1, wide, share[..., None] * states)

    def _scored(self, spans: Tensor, forms: Tensor, names: NamedPlaces) -> tuple[Tensor, Tensor]:
        """[B, M, C] candidates and their scores, minus infinity where there are fewer."""
        form = forms.gather(1, names.place).clamp(min=0)
        known = names.there & (forms.gather(1, names.place) >= 0)
        meanings = torch.where(known[..., None], self.candidates.entity[form], -1)
        vectors = self.vectors(meanings)
        product = torch.matmul(vectors, spans[..., None])[..., 0] / math.sqrt(spans.shape[-1])  # [B, M, C]
        score = self.score(torch.stack([product, self.candidates.prior[form]], -1))[..., 0]
        return meanings, score.masked_fill(meanings < 0, float("-inf"))

    def _meant(self, scores: Tensor, meanings: Tensor, forms: Tensor, names: NamedPlaces) -> Tensor:
        """[B, M, E] the mean of the candidates' vectors by a softmax of their scores; learned vectors where there is none, or a token is hidden."""
        kept = scores
        if self.part.threshold is not None:
            kept = scores.masked_fill(scores < self.part.threshold, float("-inf"))
        some = torch.isfinite(kept).any(-1, keepdim=True)
        share = torch.where(some, kept, 0.0).softmax(-1)
        mean = torch.matmul(share[..., None, :], self.vectors(meanings))[..., 0, :]
        hidden = (forms.gather(1, names.place) < -1)[..., None]
        learned = self.instead.weight
        return torch.where(hidden, learned[0], mean if len(learned) == 1 else torch.where(some, mean, learned[1]))

    def batch_flops(self, batch: Batch) -> int:
        forms = _forms(batch)
        if forms is None:
            return 0
        (rows, time), part = forms.shape, self.part
        most, inner = NamedPlaces.of(forms).place.shape[1], part.entity_width
        there = 2 * rows * time * self.project.in_features * inner
        linked = there + 2 * rows * time * inner + self.mentions.flops(rows=rows, queries=most, keys=most)
        linked += 2 * rows * most * part.most * (3 * part.scorer + inner)
        if self.alone:
            return linked
        read = self.tokens.flops(rows=rows, queries=time, keys=most) + there
        return linked + read + 2 * rows * most * part.most * inner

    def fixed_flops(self, batch: Batch) -> int:
        forms = _forms(batch)
        if forms is None:
            return 0
        product = 2 * forms.shape[0] * NamedPlaces.of(forms).place.shape[1] * self.part.most * self.part.entity_width
        return product if self.alone else 2 * product  # with vectors that learn nothing


def _forms(batch: Batch) -> Tensor | None:
    """[B, T] Where there are any; also of a batch that is still numpy's, since what a step costs is asked before it goes to a device."""
    forms = batch.named.get(FORMS)
    return None if forms is None or not bool((forms != -1).any()) else torch.as_tensor(forms)


class _NarrowBlock(nn.Module):
    """Attention with its residual and norm, then a feed-forward network with the same."""

    def __init__(self, part: KnowledgeAttention) -> None:
        super().__init__()
        width = part.entity_width
        self.attention = EntityAttention(width=width, heads=part.heads, drop=part.dropout)
        self.attention_norm = nn.LayerNorm(width, eps=part.epsilon)
        self.feed_forward = FeedForward(width=width, inner=part.feed_forward, activation=Activation.GELU, drop=part.dropout)
        self.feed_forward_norm = nn.LayerNorm(width, eps=part.epsilon)

    def forward(self, value: Tensor, seen: Tensor | None, there: Tensor) -> Tensor:
        """[B, Q, E] look at what is [B, K] there of [B, K, E]; None: at themselves."""
        looked = self.attention_norm(value + self.attention(value, value if seen is None else seen, there))
        made: Tensor = self.feed_forward_norm(looked + self.feed_forward(looked))
        return made

    def flops(self, *, rows: int, queries: int, keys: int) -> int:
        """Of the matrix products of one forward pass, two a multiply-add."""
        inner = 2 * 2 * rows * queries * self.attention.query.in_features * self.feed_forward.neurons
        return self.attention.flops(rows=rows, queries=queries, keys=keys) + inner
