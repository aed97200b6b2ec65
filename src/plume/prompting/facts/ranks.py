"""Ranks of right objects among a relation's candidates, and what they are worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.part import Part
from plume.prompting.facts.reading import RelationFact

Scores = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RankScores(Part):
    """Of ranks: how often the first is right, one of the first ten, and the mean of 1 / rank."""

    p1: float
    p10: float
    mrr: float


def ranks_of(scores: Scores, facts: Sequence[RelationFact], candidates: Sequence[str], known: Sequence[RelationFact]) -> Scores:
    """[facts] of each object, from 1. Others that are right too, by `known`, do not count against it; one among n equals has their mean rank."""
    place = {candidate: number for number, candidate in enumerate(candidates)}
    right: dict[str, set[int]] = {}
    for fact in known:
        if fact.object in place:
            right.setdefault(fact.subject, set()).add(place[fact.object])
    found = np.zeros(len(facts))
    for row, fact in enumerate(facts):
        own = place[fact.object]
        others = np.ones(len(candidates), bool)
        others[list(right[fact.subject])] = False
        against = scores[row][others]
        found[row] = 1 + np.sum(against > scores[row, own]) + np.sum(against == scores[row, own]) / 2
    return found


def rank_scores(ranks: Scores) -> RankScores:
    """Of a relation's facts; a rank between two that are equal is no first place.

    >>> rank_scores(np.array([1.0, 2.0, 20.0]))
    RankScores(p1=0.3333333333333333, p10=0.6666666666666666, mrr=0.5166666666666667)
    """
    return RankScores(p1=float(np.mean(ranks <= 1)), p10=float(np.mean(ranks <= 10)), mrr=float(np.mean(1 / ranks)))


def by_frequency(facts: Sequence[RelationFact], candidates: Sequence[str], known: Sequence[RelationFact]) -> Scores:
    """[facts, candidates] how often each is the object of the relation's other facts: all that the majority knows."""
    counts = Counter(fact.object for fact in known)
    base = np.array([counts[candidate] for candidate in candidates], float)
    scores = np.tile(base, (len(facts), 1))
    place = {candidate: number for number, candidate in enumerate(candidates)}
    for row, fact in enumerate(facts):
        scores[row, place[fact.object]] -= 1  # without this one
    return scores


def by_chance(facts: Sequence[RelationFact], candidates: Sequence[str], known: Sequence[RelationFact]) -> RankScores:
    """What any order gives on average. Objects that are right too are left out, as in `ranks_of`, where they are candidates."""
    among = set(candidates)
    right = Counter(fact.subject for fact in known if fact.object in among)
    sizes = [len(candidates) - right[fact.subject] + 1 for fact in facts]
    return RankScores(
        p1=float(np.mean([1 / size for size in sizes])),
        p10=float(np.mean([min(10 / size, 1) for size in sizes])),
        mrr=float(np.mean([np.sum(1 / np.arange(1, size + 1)) / size for size in sizes])),
    )
