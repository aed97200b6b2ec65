"""TransE (Bordes et al. 2013): vectors of entities and relations, such that head + relation lies near tail."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.static.vectors import unit_rows
from plume.static.word2vec import INITIAL, kernel_seeds

Triples = NDArray[np.int64]  # [N, 3] head, relation, tail


class TripleDistance(enum.StrEnum):
    """How far head + relation lies from tail: the sum of the differences, or of their squares."""

    L1 = "l1"
    L2 = "l2"


@dataclass(frozen=True, kw_only=True, eq=False)
class TripleVectors:
    """A vector for each entity, of length one, and for each relation."""

    entities: NDArray[np.float32]  # [E, D]
    relations: NDArray[np.float32]  # [R, D]
    distance: TripleDistance = TripleDistance.L1


@dataclass(frozen=True, kw_only=True)
class TransE(Part):
    """The settings (https://papers.nips.cc/paper/5071). The same seed gives bit-equal vectors: one thread trains, an entity at a time.

    >>> made = TransE(dimension=8, epochs=50).train(np.array([[0, 0, 1], [1, 0, 2], [2, 0, 3]]), entities=4, relations=1, seed=0)
    >>> made.entities.shape, made.relations.shape
    ((4, 8), (1, 8))
    """

    dimension: int = 100
    margin: float = 6.0
    distance: TripleDistance = TripleDistance.L1
    rate: float = 0.01
    negatives: int = 5  # corrupted triples a right one; the paper has one, a margin of 1 or 2, and a rate that stays
    epochs: int = 100

    def __post_init__(self) -> None:
        if min(self.dimension, self.negatives, self.epochs) < 1:
            raise PlumeError("TransE: dimension, negatives and epochs must be at least 1.")
        if not (self.margin > 0 and self.rate > 0 and math.isfinite(self.margin + self.rate)):
            raise PlumeError(f"TransE: margin={self.margin} and rate={self.rate} must both be above 0.")

    def train(
        self,
        triples: Triples,
        *,
        entities: int,
        relations: int,
        seed: int,
        progress: Callable[[float, float], None] = lambda share, loss: None,
    ) -> TripleVectors:
        """`progress` is told the share of the run that is done, and the loss a corrupted triple, after each epoch."""
        from plume.static.kernels.transe import train_triples  # compiled code, loaded only to train

        triples = np.ascontiguousarray(triples, np.int64).reshape(-1, 3)
        if not len(triples):
            raise PlumeError("TransE learns from triples, and there are none: add some to the knowledge base.")
        draw = np.random.default_rng([seed, 0])
        bound = 6 / math.sqrt(self.dimension)
        of_entities = unit_rows(draw.uniform(-bound, bound, (entities, self.dimension)).astype(np.float32))
        of_relations = unit_rows(draw.uniform(-bound, bound, (relations, self.dimension)).astype(np.float32))
        squares, seeds = self.distance is TripleDistance.L2, kernel_seeds(seed=seed, epoch=INITIAL, first=0, count=self.epochs)
        for epoch in range(self.epochs):
            order = np.random.default_rng([seed, 1, epoch]).permutation(len(triples))
            # Falls to zero in a line, as word2vec's does.
            rate = self.rate * (1 - epoch / self.epochs)
            loss = train_triples(
                triples,
                order,
                of_entities,
                of_relations,
                np.float32(self.margin),
                np.float32(rate),
                self.negatives,
                squares,
                int(seeds[epoch]),
            )
            progress((epoch + 1) / self.epochs, loss / (len(triples) * self.negatives))
        return TripleVectors(entities=of_entities, relations=of_relations, distance=self.distance)


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """How high the right entity stands among all, other right ones left out ("filtered")."""

    questions: int
    mean_reciprocal: float
    hits_at_1: float
    hits_at_10: float

    @classmethod
    def of(cls, ranks: NDArray[np.float64]) -> Ranks:
        """From 1 for the best; entities with the same score share their mean rank."""
        if not len(ranks):
            return cls(questions=0, mean_reciprocal=math.nan, hits_at_1=math.nan, hits_at_10=math.nan)
        hits = [float((ranks <= count).mean()) for count in (1, 10)]
        return cls(questions=len(ranks), mean_reciprocal=float((1 / ranks).mean()), hits_at_1=hits[0], hits_at_10=hits[1])


Scorer = Callable[[int, int, bool], NDArray[np.floating]]  # known entity, relation, is the tail asked for? [E] distances


def ranked(score: Scorer, asked: Triples, known: Triples) -> Ranks:
    """Both questions of each triple asked: which tail, and which head? `known` are all true triples."""
    tails, heads = _right(known, 0, 2), _right(known, 2, 0)
    ranks = []
    for head, relation, tail in asked.tolist():
        for given, answer, right, of_tail in ((head, tail, tails, True), (tail, head, heads, False)):
            found = np.asarray(score(given, relation, of_tail), np.float64).copy()
            mine = found[answer]
            found[right.get((given, relation), [])] = np.inf
            ranks.append(1 + (found < mine).sum() + (found == mine).sum() / 2)
    return Ranks.of(np.array(ranks, np.float64))


def by_vectors(vectors: TripleVectors) -> Scorer:
    """TransE's own answer."""
    from plume.static.kernels.transe import head_distances, tail_distances

    entities, relations, squares = vectors.entities, vectors.relations, vectors.distance is TripleDistance.L2

    def score(given: int, relation: int, of_tail: bool) -> NDArray[np.floating]:
        found = (
            tail_distances(entities, relations, given, relation, squares)
            if of_tail
            else head_distances(entities, relations, relation, given, squares)
        )
        return np.asarray(found)

    return score


def by_frequency(triples: Triples, entities: int) -> Scorer:
    """The baseline: the most frequent tail of the relation, or its most frequent head, whoever is asked about."""
    counts: dict[tuple[int, bool], NDArray[np.floating]] = {}

    def score(given: int, relation: int, of_tail: bool) -> NDArray[np.floating]:
        key = (relation, of_tail)
        if key not in counts:
            counts[key] = -np.bincount(triples[triples[:, 1] == relation, 2 if of_tail else 0], minlength=entities).astype(np.float64)
        return counts[key]

    return score


def _right(triples: Triples, given: int, asked: int) -> dict[tuple[int, int], list[int]]:
    found: dict[tuple[int, int], list[int]] = {}
    for row in triples.tolist():
        found.setdefault((row[given], row[1]), []).append(row[asked])
    return found
