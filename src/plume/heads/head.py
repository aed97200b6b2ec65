"""What a head is built from and what it returns."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor, nn

from plume.core.batch import Encoded, Target
from plume.core.part import Part


@dataclass(frozen=True, kw_only=True)
class Dims:
    """What a head may need to know of the network below it."""

    width: int
    token: nn.Embedding  # for tied output weights
    pooler: nn.Module | None = None
    entity: nn.Embedding | None = None  # vectors of a knowledge base's entities, where the network has some
    characters: Tensor | None = None  # [V, C] of each word, where the vocabulary is spelled


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Sums, not means: the training loop divides by the count over all processes and accumulated batches."""

    total: Tensor
    count: Tensor | int
    correct: Tensor | None = None
    classes: Tensor | None = None  # [C] how often each class was right, where there are few: guessing knows their shares
    further: dict[str, Tensor] = field(default_factory=dict)  # other sums over the same count, to be shown beside it


class ScoreKind(enum.StrEnum):
    """What a head's scores are, to whoever learns from them."""

    ONE = "one"  # logits over the last axis: one of them is right
    PLACE = "place"  # [B, T, …] logits over the second axis: one place is right
    EACH = "each"  # a logit for each class, which is there or not
    NUMBER = "number"  # what is predicted, itself


class HeadModule(nn.Module):
    """A head with its weights."""

    answer: ClassVar[ScoreKind] = ScoreKind.ONE
    reads_between: ClassVar[bool] = False  # only what a module between two blocks left

    def initialise(self) -> None:
        """First weights that are not those of every family."""

    def loss(self, encoded: Encoded, target: Target) -> Loss:
        """Summed over what the target asks."""
        raise NotImplementedError

    def flops(self, predictions: int) -> int:
        """Of the matrix products of one forward pass."""
        dense = [part.in_features * part.out_features for part in self.modules() if isinstance(part, nn.Linear)]
        return 2 * predictions * sum(dense)

    def step_flops(self, predictions: int, named: Mapping[str, Tensor]) -> int:
        """Of a training step: forward, and twice that backward; `named` is what the batch carries beside its tokens."""
        return 3 * self.flops(predictions)

    def source_flops(self, *, rows: int, queries: int, source: int) -> int:
        """Of those that a head makes besides for a decoder's rows, whatever is asked (it looks at the source again: PALM)."""
        return 0

    def logits(self, hidden: Tensor) -> Tensor:
        """[..., D] to [..., classes]."""
        raise NotImplementedError

    def scores(self, encoded: Encoded, target: Target) -> Tensor:
        """What a task decides by, of the states at the positions that the target names; its values are not looked at."""
        return self.weighed(self.logits(self.asked(encoded, target)), target)

    def asked(self, encoded: Encoded, target: Target) -> Tensor:
        """[N, D] what the target asks about; also of logits that stand in the states' place, where another runtime computed them."""
        return at(encoded, target)

    def weighed(self, logits: Tensor, target: Target) -> Tensor:
        """What a task decides by, of the logits of what was `asked`: here themselves."""
        return precise(logits)

    def soft(self, logits: Tensor, target: Target) -> Tensor:
        """The same as a student is taught by them, or is held against them."""
        return self.weighed(logits, target)

    def taught(self, encoded: Encoded, target: Target) -> Tensor:
        """What it says to a student, or as one, of the states at the positions that the target names."""
        return self.soft(self.logits(self.asked(encoded, target)), target)

    def log_probabilities(self, encoded: Encoded) -> Tensor:
        """[B, T, V] of what a decoder writes."""
        return precise(self.logits(encoded.last)).log_softmax(-1)

    def next_scores(self, encoded: Encoded) -> Tensor:
        """[B, V] log-probabilities at the last position, for generation."""
        return self.raw_scores(encoded).log_softmax(-1)

    def raw_scores(self, encoded: Encoded) -> Tensor:
        """[B, V] the same before their softmax."""
        return precise(self.logits(encoded.last[:, -1]))


@dataclass(frozen=True, kw_only=True)
class Head(Part):
    """A declaration of what answers, built on the states of a network."""

    reads_rows: ClassVar[bool] = False  # a sentence's from all of its tokens, not from the first alone
    of_tokens: ClassVar[bool] = True  # does it choose among the vocabulary, where noise asks it?
    reads_text: ClassVar[bool] = False  # one state of a text, which may as well be a pooled one

    @property
    def needs_equal_widths(self) -> bool:
        """Does it hold the network's states against token vectors as they are?"""
        return False

    def problems(self, recipe: Any, name: str) -> Iterator[str]:
        unequal = recipe.embedding.width != recipe.network.output_width
        if unequal and self.needs_equal_widths and not recipe.assembly.generates:
            yield (
                f"{name} holds states of width {recipe.network.output_width} against token vectors of width {recipe.embedding.width}; "
                "set its head.transform=True."
            )

    def over_pooled(self) -> Head:
        """The same where it reads a vector that is pooled of all states."""
        return self

    def build(self, dims: Dims) -> HeadModule:
        """With weights, for a network of such dimensions."""
        raise NotImplementedError


def precise(scores: Tensor) -> Tensor:
    """In single precision at least, for a softmax."""
    return scores.float() if scores.dtype.itemsize < 4 else scores


def at(encoded: Encoded, target: Target) -> Tensor:
    """[N, D] the hidden states that the target asks about."""
    rows = encoded.last.reshape(-1, encoded.last.shape[-1])
    return rows if target.whole else rows.index_select(0, target.index if target.slot is None else target.slot)
