"""Which layer of a student is held against which of its teacher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part

Pairs = Sequence[tuple[int, int]]  # (student's, teacher's)


@dataclass(frozen=True, kw_only=True)
class LayerPairs(Part):
    """Base: pairs of hidden states, the embedding being layer 0, and pairs of blocks, the first being block 0."""

    def hidden(self, student: int, teacher: int) -> Pairs:
        """For networks of such depths."""
        raise NotImplementedError

    def blocks(self, student: int, teacher: int) -> Pairs:
        """The blocks that made those states."""
        return [(own - 1, other - 1) for own, other in self.hidden(student, teacher) if own and other]


@dataclass(frozen=True, kw_only=True)
class EveryKth(LayerPairs):
    """Student layer i learns from layer i · k of a teacher k times as deep, the embeddings included (TinyBERT §3); from the nearest where the
    depths do not divide.

    >>> EveryKth().hidden(2, 6), EveryKth().blocks(2, 6)
    ([(0, 0), (1, 3), (2, 6)], [(0, 2), (1, 5)])
    """

    embedding: bool = True

    def hidden(self, student: int, teacher: int) -> Pairs:
        first = 0 if self.embedding else 1
        return [(own, round(own * teacher / student)) for own in range(first, student + 1)]


@dataclass(frozen=True, kw_only=True)
class LastOnly(LayerPairs):
    """The last of both."""

    def hidden(self, student: int, teacher: int) -> Pairs:
        return [(student, teacher)]


@dataclass(frozen=True, kw_only=True)
class Given(LayerPairs):
    """Pairs as a user gives them."""

    pairs: tuple[tuple[int, int], ...]

    def hidden(self, student: int, teacher: int) -> Pairs:
        for own, other in self.pairs:
            if not 0 <= own <= student or not 0 <= other <= teacher:
                raise PlumeError(
                    f"There is no pair of layers {own} and {other}: the student has {student}, the teacher {teacher}, and 0 is the embedding."
                )
        return self.pairs
