"""Comparisons that look inside both networks: hidden states, attention, relations. Token by token, so that both must cut texts alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plume.compressing.distilling.comparisons import DistilLoss
from plume.compressing.distilling.computed import Computed, Extent
from plume.compressing.distilling.layer_pairs import EveryKth, LastOnly, LayerPairs, Pairs
from plume.core.errors import PlumeError


@dataclass(frozen=True, kw_only=True)
class Inner(DistilLoss):
    """Base: `pairs` says which layer of the student is held against which of the teacher."""

    pairs: LayerPairs = EveryKth()

    by_answer: ClassVar[bool] = False  # is its loss a sum over answers, and not over tokens?

    def total(self, student: Computed, teacher: Computed, pairs: Pairs, learned: nn.Module | None) -> Tensor:
        """Summed over tokens; several pairs are summed too: each counts (TinyBERT, eq. 11)."""
        raise NotImplementedError

    def places(self, student: Extent, teacher: Extent) -> Pairs:
        """The pairs for two networks of such depths."""
        return self.pairs.hidden(student.depth, teacher.depth)

    def build(self, student: Extent, teacher: Extent) -> nn.Module | None:
        """What it has to learn itself: a map from one width to another."""
        return None


@dataclass(frozen=True, kw_only=True)
class OfStates(Inner):
    """Base of those that compare hidden states; where widths differ the student's go through one learned map, for all layers the same (TinyBERT's
    code). The embedding is layer 0."""

    mapped: bool | None = None  # None: where widths differ

    layers: ClassVar[bool] = True

    def build(self, student: Extent, teacher: Extent) -> nn.Module | None:
        wanted = student.width != teacher.width if self.mapped is None else self.mapped
        if not wanted and student.width != teacher.width:
            raise PlumeError(
                f"{type(self).__name__}: states {student.width} and {teacher.width} wide are compared through a map: leave out mapped=False."
            )
        return nn.Linear(student.width, teacher.width) if wanted else None

    def total(self, student: Computed, teacher: Computed, pairs: Pairs, learned: nn.Module | None) -> Tensor:
        found = []
        for own, other in pairs:
            mine, theirs = self.read(student, own), self.read(teacher, other)
            found.append(self.apart(mine if learned is None else learned(mine), theirs).sum())
        return torch.stack(found).sum()

    def read(self, computed: Computed, layer: int) -> Tensor:
        """[N, D] the states that count: of all tokens of text."""
        return computed.layers[layer][computed.inside]

    def apart(self, student: Tensor, teacher: Tensor) -> Tensor:
        """[N] how far they are from each other."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class HiddenDistance(OfStates):
    """Squared distance of hidden states (TinyBERT, arXiv:1909.10351 eq. 8 and 9)."""

    def apart(self, student: Tensor, teacher: Tensor) -> Tensor:
        return ((student - teacher) ** 2).mean(-1)


@dataclass(frozen=True, kw_only=True)
class CosineDistance(OfStates):
    """1 − cosine of hidden states (DistilBERT, arXiv:1910.01108 §3); of the last layer unless `pairs` says otherwise."""

    pairs: LayerPairs = LastOnly()

    def apart(self, student: Tensor, teacher: Tensor) -> Tensor:
        return 1 - F.cosine_similarity(student, teacher, dim=-1)


@dataclass(frozen=True, kw_only=True)
class Patient(OfStates):
    """Squared distance of the states that the head would read, each brought to length 1 (patient distillation, arXiv:1908.09355 eq. 7); the mean over
    layers and dimensions, as in its code, by which its weights go. BERT's is the first token; of a model that reads one way it is the last."""

    pairs: LayerPairs = EveryKth(embedding=False)

    by_answer: ClassVar[bool] = True

    def read(self, computed: Computed, layer: int) -> Tensor:
        return computed.layers[layer].flatten(0, 1)[computed.asked]

    def apart(self, student: Tensor, teacher: Tensor) -> Tensor:
        return ((F.normalize(student, dim=-1) - F.normalize(teacher, dim=-1)) ** 2).mean(-1)

    def total(self, student: Computed, teacher: Computed, pairs: Pairs, learned: nn.Module | None) -> Tensor:
        return super().total(student, teacher, pairs, learned) / max(len(pairs), 1)


@dataclass(frozen=True, kw_only=True)
class Scores(Inner):
    """Squared distance of attention scores before their softmax (TinyBERT eq. 7 and code), nought where nothing may be looked at. Both networks need
    as many heads."""

    looks: ClassVar[bool] = True

    def places(self, student: Extent, teacher: Extent) -> Pairs:
        if student.heads != teacher.heads:
            raise PlumeError(
                f"Attention scores are compared head by head, and the student has {student.heads} heads where the teacher has {teacher.heads}: "
                "choose a student with as many, or --method minilm, which compares relations."
            )
        return self.pairs.blocks(student.depth, teacher.depth)

    def total(self, student: Computed, teacher: Computed, pairs: Pairs, learned: nn.Module | None) -> Tensor:
        keys = student.inside.sum(1)[:, None]  # padding is no part of the mean
        found = []
        for own, other in pairs:
            mine, theirs = student.scores(own), teacher.scores(other)
            if mine.shape != theirs.shape:
                raise PlumeError(
                    "Attention scores are compared head by head, and heads were taken out of a block: --method minilm can do without."
                )
            apart = ((mine - theirs) ** 2).masked_fill(~student.inside[:, None, None], 0.0)
            found.append((apart.mean(1).sum(-1) / keys)[student.inside].sum())
        return torch.stack(found).sum()


@dataclass(frozen=True, kw_only=True)
class Relations(Inner):
    """KL of the relations among a layer's queries, keys and values, each softmax(XXᵀ/√d) over `heads` relation heads, from one layer of the
    teacher's to the student's last (MiniLM v2, arXiv:2012.15828 §3). Free in depth, width and heads."""

    heads: int | None = None  # relation heads; None: as many as the teacher has, or the most below that into which both networks divide
    layer: int = -1  # of the teacher: the last; v2 takes an upper-middle one of large teachers

    looks: ClassVar[bool] = True

    def places(self, student: Extent, teacher: Extent) -> Pairs:
        if not -teacher.depth <= self.layer < teacher.depth:
            raise PlumeError(f"The teacher has {teacher.depth} layers: it has no layer {self.layer}.")
        return [(student.depth - 1, self.layer % teacher.depth)]

    def total(self, student: Computed, teacher: Computed, pairs: Pairs, learned: nn.Module | None) -> Tensor:
        ((own, other),) = pairs
        mine, theirs = student.looks[own], teacher.looks[other]
        heads = self.heads or _common_heads(mine.query, theirs.query)
        both = ((mine.query, theirs.query), (mine.key, theirs.key), (mine.value, theirs.value))
        return torch.stack([_divergence(one, other, heads, student.inside) for one, other in both]).sum()


def _common_heads(student: Tensor, teacher: Tensor) -> int:
    """At most the teacher's."""
    both = math.gcd(*(vectors.shape[1] * vectors.shape[-1] for vectors in (student, teacher)))
    return max(heads for heads in range(1, teacher.shape[1] + 1) if both % heads == 0)


def _divergence(student: Tensor, teacher: Tensor, heads: int, inside: Tensor) -> Tensor:
    """Summed over tokens, the mean over relation heads."""
    log_student, log_teacher = (_relations(one, heads, inside) for one in (student, teacher))
    apart = (log_teacher.exp() * (log_teacher - log_student)).masked_fill(~inside[:, None, None, :], 0.0).sum(-1)  # [B, R, T]
    return apart.mean(1)[inside].sum()


def _relations(vectors: Tensor, heads: int, inside: Tensor) -> Tensor:
    """[B, H, T, W] regrouped into relation heads: log softmax of [B, R, T, T]."""
    rows, _, time, _ = vectors.shape
    merged = vectors.transpose(1, 2).reshape(rows, time, -1)
    if merged.shape[-1] % heads:
        raise PlumeError(
            f"A width of {merged.shape[-1]} does not divide into {heads} relation heads: give a number that divides those of both networks "
            f"(--set comparisons.relations.heads=…)."
        )
    split = merged.view(rows, time, heads, -1).transpose(1, 2)
    scores = split @ split.transpose(-1, -2) / math.sqrt(split.shape[-1])
    return scores.masked_fill(~inside[:, None, None, :], torch.finfo(scores.dtype).min).log_softmax(-1)


def inner_of(comparisons: Sequence[DistilLoss]) -> list[Inner]:
    """Those of them that look inside."""
    return [one for one in comparisons if isinstance(one, Inner)]
