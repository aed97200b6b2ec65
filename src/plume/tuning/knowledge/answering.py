"""Answering: a beam over topics and paths. Questions go together, a step of all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plume.kb.graph import Entities, Path
from plume.tuning.knowledge.opened import OpenedKB
from plume.tuning.knowledge.rows import as_rows
from plume.tuning.knowledge.situations import Situation, Topic, WayOn, answer_of, begin, go_on
from plume.tuning.task import Answering


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A topic and a path so far, with the probability of each step among its ways."""

    way: WayOn
    steps: tuple[float, ...]  # log probabilities; the first is that of topic and step together

    @property
    def score(self) -> float:
        """Log probability."""
        return sum(self.steps)


@dataclass(frozen=True, kw_only=True)
class FoundPaths:
    """Of one question: the chains, the best first, where the best leads, and how likely each topic was."""

    chains: tuple[Chain, ...]
    answers: tuple[int, ...]
    topics: tuple[tuple[Topic, float], ...]  # probabilities, the likeliest first

    @property
    def best(self) -> Chain | None:
        """The one that is answered by."""
        return self.chains[0] if self.chains else None


def answer(
    name: str, known: OpenedKB, model: Answering, questions: Sequence[str], topics: Sequence[Sequence[Topic]], *, hops: int, beam: int
) -> list[FoundPaths]:
    """`topics` are those of each question."""
    situations = [begin(known, question, some) for question, some in zip(questions, topics, strict=True)]
    shares = scored(name, known, model, situations)
    likely = [_by_topic(one, share) for one, share in zip(situations, shares, strict=True)]
    open_chains = [
        _best([Chain(way=way, steps=(float(share),)) for way, share in zip(one.ways, some, strict=True)], beam)
        for one, some in zip(situations, shares, strict=True)
    ]
    ended: list[list[Chain]] = [[] for _ in questions]
    for _ in range(hops - 1):
        open_chains = _step(name, known, model, questions, open_chains, ended, beam)
    for chains, finished in zip(open_chains, ended, strict=True):
        finished += chains
    return [_found(known, _best(chains, beam), some) for chains, some in zip(ended, likely, strict=True)]


def _step(
    name: str, known: OpenedKB, model: Answering, questions: Sequence[str], chains: Sequence[Sequence[Chain]], ended: list[list[Chain]], beam: int
) -> list[list[Chain]]:  # fmt: skip
    """Each open chain ends, or goes on; what ended goes to `ended`."""
    held = [(number, chain) for number, some in enumerate(chains) for chain in some]
    situations = [
        go_on(known, questions[number], chain.way, _reached(known, chain.way.topic.entity, chain.way.path)) for number, chain in held
    ]
    further: list[list[Chain]] = [[] for _ in questions]
    for (number, chain), situation, shares in zip(held, situations, scored(name, known, model, situations), strict=True):
        for way, share in zip(situation.ways, shares.tolist(), strict=True):
            (ended if way.ended else further)[number].append(Chain(way=way, steps=(*chain.steps, share)))
    return [_best(some, beam) for some in further]


def scored(name: str, known: OpenedKB, model: Answering, situations: Sequence[Situation]) -> list[np.ndarray]:
    """Log probabilities of the ways of each situation."""
    some = [one for one in situations if one.ways]
    if not some:
        return [np.zeros(0) for _ in situations]
    questions = as_rows(name, known, some, None, model.coder())
    table = model.table(questions)[:, 0].astype(np.float64)
    found = iter([_log_softmax(table[first:last]) for first, last in pairwise(questions.groups.tolist())])
    return [next(found) if one.ways else np.zeros(0) for one in situations]


def _found(known: OpenedKB, chains: list[Chain], topics: tuple[tuple[Topic, float], ...]) -> FoundPaths:
    """The best chain that leads anywhere but back to its topic."""
    for place, chain in enumerate(chains):
        answers = answer_of(known, chain.way.topic.entity, chain.way.path)
        if answers:
            return FoundPaths(chains=tuple(chains[place:]), answers=tuple(answers), topics=topics)
    return FoundPaths(chains=(), answers=(), topics=topics)


def _reached(known: OpenedKB, topic: int, path: Path) -> Entities:
    return known.graph.walk(topic, path)


def _by_topic(situation: Situation, shares: np.ndarray) -> tuple[tuple[Topic, float], ...]:
    whole: dict[Topic, float] = {}
    for way, share in zip(situation.ways, np.exp(shares).tolist(), strict=True):
        whole[way.topic] = whole.get(way.topic, 0.0) + share
    return tuple(sorted(whole.items(), key=lambda one: -one[1]))


def _best(chains: Sequence[Chain], beam: int) -> list[Chain]:
    return sorted(chains, key=lambda one: -one.score)[:beam]


def _log_softmax(scores: np.ndarray) -> np.ndarray:
    return scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
