"""Views: what of a file's rows is held against what, as parts. A method has one; what its file must have is said here, before a model is loaded."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import cycle
from typing import ClassVar

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.sentences.reading import SentenceRows

_POSITIVE = 0.8  # of the scores' range: 4 of STS-B's 5


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """Texts that belong together, as many in each group, with a score where there is one."""

    texts: list[tuple[str, ...]]
    score: list[float]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Grouping(Part):
    """Base of the ways to make groups of rows."""

    by_dropout: ClassVar[bool] = False  # is dropout all in which the views of a text differ?
    writes: ClassVar[bool] = False  # is the second text written after the first?

    def __call__(self, found: SentenceRows, method: str) -> Grouped:
        """The groups; an error says what `method` needs and the file lacks."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class EachText(Grouping):
    """Every text, once: a teacher says what its vector should be."""

    times: ClassVar[int] = 1

    def __call__(self, found: SentenceRows, method: str) -> Grouped:
        texts = dict.fromkeys(text for row in found.rows for text in row.texts)
        left = len(found.rows) * found.texts - len(texts)
        return Grouped(
            texts=[(one,) * self.times for one in texts],
            score=[1.0] * len(texts),
            notes=[f"{left:,} repeated texts are left out"] if left else [],
        )


@dataclass(frozen=True, kw_only=True)
class SameText(EachText):
    """Every text twice: its two vectors differ by their dropout alone (SimCSE)."""

    times: ClassVar[int] = 2
    by_dropout: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class ScoredPairs(Grouping):
    """Pairs, each with a score."""

    def __call__(self, found: SentenceRows, method: str) -> Grouped:
        if found.texts != 2 or not found.scored:
            has = (
                f"{found.file.name} has none"
                if found.texts == 2
                else f"{found.file.name} has {('single texts', '', 'triples')[found.texts - 1]}"
            )
            raise PlumeError(f"{method} needs a score for each pair: {has}.")
        score = found.score()
        if len(set(score)) < 2:
            raise PlumeError(f"{method} learns from pairs of unlike score, and all pairs of {found.file.name} have the same: use ranking.")
        return Grouped(texts=[row.texts for row in found.rows], score=score)


@dataclass(frozen=True, kw_only=True)
class PositivePairs(Grouping):
    """Pairs that belong together, with a hard negative each where there are some: of inference the contradictions (SimCSE §4.1)."""

    negatives: bool = True  # are they of use?

    def __call__(self, found: SentenceRows, method: str) -> Grouped:
        if found.texts == 1:
            raise PlumeError(f"{method} needs pairs that belong together: {found.file.name} has one text a row.")
        if found.texts == 3:
            texts = [row.texts if self.negatives else row.texts[:2] for row in found.rows]
            return Grouped(texts=texts, score=[1.0] * len(texts))
        if not found.scored:
            return Grouped(texts=[row.texts for row in found.rows], score=[1.0] * len(found.rows))
        score = found.score()
        near = [row.texts for row, one in zip(found.rows, score, strict=True) if one >= _POSITIVE]
        if not near:
            raise PlumeError(f"{method} needs pairs that belong together: {found.file.name} has none, by its scores.")
        triples = self._with_contradictions(found, score) if found.inference and self.negatives else []
        kept = triples or near
        left = len(found.rows) - len(kept)
        notes = [
            f"{len(kept):,} {'triples were made of' if triples else 'pairs that belong together are used, of'} {len(found.rows):,} pairs"
        ]
        return Grouped(texts=kept, score=[1.0] * len(kept), notes=notes if left else [])

    @staticmethod
    def _with_contradictions(found: SentenceRows, score: list[float]) -> list[tuple[str, ...]]:
        """Each entailment with one contradiction of the same premise; premises that lack one of them are left out."""
        far: dict[str, list[str]] = defaultdict(list)
        for row, one in zip(found.rows, score, strict=True):
            if one == 0.0:
                far[row.texts[0]].append(row.texts[1])
        turns = {premise: cycle(others) for premise, others in far.items()}
        pairs = [row.texts for row, one in zip(found.rows, score, strict=True) if one == 1.0 and row.texts[0] in turns]
        return [(first, second, next(turns[first])) for first, second in pairs]


@dataclass(frozen=True, kw_only=True)
class SwappedPairs(PositivePairs):
    """Pairs that mean the same, in one row each, both ways round: the second text is written after the first (SimBERT)."""

    negatives: bool = False

    writes: ClassVar[bool] = True
