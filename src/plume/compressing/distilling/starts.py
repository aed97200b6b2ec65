"""What a student knows before its first lesson."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from plume.compressing.shrinking.layers import with_layers
from plume.core.errors import PlumeError
from plume.core.part import Part, replace
from plume.model.build import build
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.nn.factorised import whole_vectors


@dataclass(frozen=True, kw_only=True)
class FirstWeights(Part):
    """Base: what the student begins with."""

    def weights(self, student: Recipe, teacher: Model, seed: int) -> Model:
        """A network of the student's recipe, over the teacher's vocabulary."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class RandomStart(FirstWeights):
    """Nothing."""

    def weights(self, student: Recipe, teacher: Model, seed: int) -> Model:
        made = build(student, vocabulary=teacher.vocabulary, seed=seed)
        made.inherit(teacher)
        return made


@dataclass(frozen=True, kw_only=True)
class TeacherVectors(RandomStart):
    """The teacher's token vectors, cut to the student's width by their principal components, at the spread that first weights have. Where one of
    the two spells its words instead, nothing."""

    @torch.no_grad()
    def weights(self, student: Recipe, teacher: Model, seed: int) -> Model:
        made = super().weights(student, teacher, seed)
        own, theirs = (getattr(model.embedding, "token", None) for model in (made, teacher))
        if not isinstance(own, torch.nn.Embedding) or not isinstance(theirs, torch.nn.Embedding):
            return made
        first, given = own.weight, whole_vectors(theirs)
        width = min(first.shape[1], given.shape[1])
        centred = (given - given.mean(0)).double()
        _, directions = torch.linalg.eigh(centred.T @ centred)  # the largest last
        cut = (centred @ directions[:, -width:].flip(1)).to(first.dtype)
        first[:, :width] = cut * (first.std() / cut.std().clamp(min=1e-12))
        return made


@dataclass(frozen=True, kw_only=True)
class TeacherLayers(FirstWeights):
    """Some of the teacher's layers, all else as the teacher has it (DistilBERT, arXiv:1910.01108 §3)."""

    layers: tuple[int, ...] = ()  # empty: evenly spread

    def weights(self, student: Recipe, teacher: Model, seed: int) -> Model:
        depth = student.transformer.depth
        return with_layers(teacher, self.layers or spread(teacher.recipe.transformer.depth, depth))


def spread(depth: int, kept: int) -> tuple[int, ...]:
    """So many layers evenly spread, the first and the last among them, as DistilBERT's script takes them.

    >>> spread(12, 6), spread(6, 3), spread(4, 1)
    ((0, 2, 4, 7, 9, 11), (0, 2, 5), (0,))
    """
    return tuple(round(number * (depth - 1) / max(kept - 1, 1)) for number in range(kept))


_WORDS = {"random": RandomStart(), "vectors": TeacherVectors(), "layers": TeacherLayers()}


def start_of(words: str | None, *, own: bool) -> FirstWeights:
    """What a user calls it: random, vectors, layers, or layers=0,2,4. `own`: the student is the teacher with fewer layers."""
    if words is None:
        return TeacherLayers() if own else TeacherVectors()
    name, _, listed = words.partition("=")
    if name not in _WORDS or (listed and name != "layers"):
        raise PlumeError(f"A student starts from random, vectors, layers or layers=0,2,4, not '{words}'.")
    if name == "layers" and not own:
        raise PlumeError("A student that starts from its teacher's layers is as wide: leave out --student, and say how many with --depth.")
    try:
        return replace(_WORDS[name], layers=tuple(int(number) for number in listed.split(","))) if listed else _WORDS[name]
    except ValueError:
        raise PlumeError(f"Layers are numbers from 0: layers=0,2,4, not '{words}'.") from None
