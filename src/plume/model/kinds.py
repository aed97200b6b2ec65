"""The kinds of batch that a recipe's objectives need: each way to hide text makes one, and they take turns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from plume.core.batch import Order
from plume.data.layouts.layout import Blocks, Layout
from plume.model.assembly import Assembly
from plume.noise.noise import Noise
from plume.noise.target import InPlace
from plume.objectives._objective import Answers, Objective

if TYPE_CHECKING:
    from plume.model.recipe import Recipe

_ANSWERED = {"ends": "noise.target=InPlaceWithBoundaries()", "moved": "noise.corrupt=Shuffled()"} | dict.fromkeys(
    ("mentions", "hidden_mentions", "mention_tags"), "noise.target=InPlaceWithMentions()"
)


@dataclass(frozen=True, kw_only=True)
class BatchKind:
    """Objectives that read the same batch. `share` is how often it comes, in proportion; `during` the part of the run in which it does."""

    name: str
    noise: Noise
    layout: Layout
    objectives: tuple[Objective, ...]
    share: float
    during: tuple[float, float]
    joint: dict[str, float] = field(default_factory=dict)  # by objective, the shares of all kinds that have it at the same time

    def scale(self, objective: Objective) -> float:
        """What its loss weighs in this batch. A noise's own weight is how often it comes; one that joins several kinds is spread over them."""
        return objective.weight / self.joint.get(objective.name, self.share)

    def problems(self, recipe: Recipe) -> Iterator[str]:
        """Why such batches cannot be made, or not be learned from by this recipe, a sentence each."""
        yield from self._row_problems()
        for objective in self.objectives:
            if objective.asks is not None and objective.asks not in self.noise.questions:
                answer = _ANSWERED.get(objective.asks, "a noise that does")
                yield f"{objective.name} asks for {objective.asks}, which the noise of {self.name} does not tell; set {answer}."
        yield from self.noise.problems(recipe, self.name)
        yield from self._assembly_problems(recipe.assembly)
        yield from self.layout.problems(recipe, self.name)
        yield from self._segment_problems(recipe)

    def _row_problems(self) -> Iterator[str]:
        """The layout's rows must be such as the noise works on."""
        in_place = isinstance(self.noise.target, InPlace)
        if in_place and isinstance(self.layout, Blocks) and not self.layout.wrapped and self.noise.select.share:
            yield (
                f"{self.name}: blocks are one token longer, for next-token prediction; tokens predicted in place need "
                "FullSentences, SentencePairs or Blocks(overlap=0)."
            )
        if self.noise.order is Order.PREFIX and self.layout.texts != 2:
            yield f"{self.name}: a prefix order reads a first text and writes a second; it needs rows of two, such as AdjacentTexts()."
        if self.layout.carries and not self.noise.keeps_places:
            yield (
                f"{self.name}: its rows carry '{self.layout.carries[0].name}' place by place, and its noise moves, adds or drops tokens; "
                "use one that leaves every token its place, such as BERT's masking, or leave layout.carries out."
            )
        if self.layout.texts < self.noise.target.texts:
            yield f"{self.name} reads a first text and writes a second; it needs rows of two, such as Translations()."

    def _assembly_problems(self, assembly: Assembly) -> Iterator[str]:
        """The networks must be such as learn from what the noise hides."""
        if assembly.streams and not self.noise.target.streams and self.noise.select.share:
            yield f"{self.name}: a two-stream network predicts permuted tokens; set noise.target to Permuted() or MaskedPermuted()."
        generates = [objective.name for objective in self.objectives if objective.answers is Answers.GENERATOR]
        if generates and not assembly.generates:
            yield f"{generates[0]} needs a generator; set assembly to GeneratorDiscriminator."
        if assembly.generates and not isinstance(self.noise.target, InPlace):
            yield f"{self.name}: a generator fills masked places; it needs tokens predicted in place."

    def _segment_problems(self, recipe: Recipe) -> Iterator[str]:
        """The texts of a row must be told apart."""
        if self.noise.target.texts > 1 and self.layout.texts > 1 and not any(recipe.format.segments):
            yield f"{self.name} tells what is read from what is written by their segments, and this format's pair has none."
        if self.noise.segments and len(self.noise.segments) < self.layout.texts:
            yield f"{self.name} numbers {len(self.noise.segments)} segments, and its rows hold {self.layout.texts} texts."


def together(kinds: Sequence[BatchKind]) -> Iterator[str]:
    """Why these kinds cannot take turns in one run: some of it would have none, or they need different corpora."""
    bounds = sorted({bound for kind in kinds for bound in kind.during})
    for begin, end in itertools.pairwise(bounds):
        if not any(kind.during[0] <= begin and end <= kind.during[1] for kind in kinds):
            yield f"no objective is trained from {begin:.0%} to {end:.0%} of the run."
    if kinds and (bounds[0] > 0 or bounds[-1] < 1):
        yield f"objectives are trained from {bounds[0]:.0%} to {bounds[-1]:.0%} of the run only."
    if len({kind.layout.corpus for kind in kinds}) > 1:
        needed = ", ".join(f"{kind.name}: {kind.layout.corpus}" for kind in kinds)
        yield f"its objectives need different kinds of corpus ({needed})."


def batch_kinds(objectives: tuple[Objective, ...], layout: Layout) -> tuple[BatchKind, ...]:
    """One kind for each objective with noise of its own; the others join every kind that can answer them."""
    owners = [objective for objective in objectives if objective.noise is not None]
    if not owners:  # the layout alone asks: whole text, nothing hidden
        return tuple(_kind(objective, Noise(), objective.layout or layout, objectives) for objective in objectives[:1])
    kinds = [_kind(owner, owner.noise or Noise(), owner.layout or layout, objectives) for owner in owners]
    return tuple(replace(kind, joint={o.name: _shares_of(o, kind, kinds) for o in kind.objectives}) for kind in kinds)


def _shares_of(objective: Objective, kind: BatchKind, kinds: list[BatchKind]) -> float:
    begin, end = kind.during
    return sum(k.share for k in kinds if objective in k.objectives and k.during[0] < end and begin < k.during[1])


def _kind(owner: Objective, noise: Noise, layout: Layout, objectives: tuple[Objective, ...]) -> BatchKind:
    joined = tuple(other for other in objectives if other is owner or (other.noise is None and _joins(other, owner, layout)))
    return BatchKind(name=owner.name, noise=noise, layout=layout, objectives=joined, share=owner.weight, during=owner.during)


def _joins(other: Objective, owner: Objective, layout: Layout) -> bool:
    if other.beside is not None and other.beside != owner.name:
        return False
    if other.answers is Answers.LAYOUT:
        # What is read off the first token needs one that sees the whole row.
        sees = other.head.reads_rows or owner.noise is None or owner.noise.order not in (Order.CAUSAL, Order.PREFIX)
        return sees and other.pair_label is layout.label
    return True
