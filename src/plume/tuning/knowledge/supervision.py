"""What a question with known answers teaches: its topic and the path to them, which most files do not say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from plume.kb.graph import Entities, Path
from plume.kb.link import NamedPlace, all_named
from plume.kb.names import flat, normalised
from plume.readers.example import Example
from plume.readers.kb_questions import KnownAnswers
from plume.tuning.knowledge.likeness import parts_of
from plume.tuning.knowledge.opened import OpenedKB
from plume.tuning.knowledge.situations import Topic, answer_of, asked_text, topics_of

_LEAST = 0.5  # F1 that a path's answers must reach to be learned from
_FRONTIER = 1000  # entities from which a path is searched on
_TRIED = 4  # topics


@dataclass(frozen=True, kw_only=True)
class Taught:
    """A topic and the path that the answers, or the file, say."""

    topic: Topic
    path: Path
    fit: float  # F1 of where it leads


def f1(found: set[str], wanted: set[str]) -> float:
    """Of two sets.

    >>> f1({"a", "b"}, {"a"}), f1(set(), {"a"})
    (0.6666666666666666, 0.0)
    """
    return 2 * len(found & wanted) / (len(found) + len(wanted)) if found or wanted else 0.0


def gold_topics(known: OpenedKB, question: str, said: KnownAnswers) -> list[Topic]:
    """Where the question names the topic that the file says; or all that it names."""
    if said.topic is None:
        return topics_of(known, question)[:_TRIED]
    wanted = normalised(said.topic)
    places = [one for one in all_named(known.kb, question) if normalised(question[one.start : one.end]) == wanted]
    if not places:  # by another name, or a key
        ids = {one.entity for one in known.kb.candidates(said.topic)} | set(known.kb.keyed(said.topic))
        topics = [one for one in topics_of(known, question) if one.entity in ids]
        return topics or [_unnamed(known, question, one) for one in sorted(ids)[:_TRIED] if known.graph.degree(one)]
    longest = NamedPlace(start=places[0].start, end=places[0].end, candidates=places[0].candidates)
    found = topics_of(known, question, named=[longest])
    exact = [one for one in found if known.kb.name_of(one.entity) == said.topic]
    return exact or found


def _unnamed(known: OpenedKB, question: str, entity: int) -> Topic:
    """One that the question does not name in any way that the knowledge base knows."""
    return Topic(entity=entity, start=len(question), end=len(question), prior=1.0, counts=(0.0, 1.0, 1.0, 0.0))


@lru_cache(maxsize=4)
def teach(known: OpenedKB, examples: tuple[Example, ...], hops: int) -> tuple[Taught | None, ...]:
    """For each example; None: no path of so many steps leads near the answers.

    Where several lead there, that whose questions have like words: first among the shortest, by the questions that have one such path only; then,
    by what was found so, among all.
    """
    questions = [example.texts[0] for example in examples]
    possible = [_possible(known, example, hops) for example in examples]
    short = [[one for one in found if len(one.path) == min(len(other.path) for other in found)] for found in possible]
    words = _Words([(text, found[0]) for text, found in zip(questions, short, strict=True) if len(found) == 1])
    first = [words.best(text, found) for text, found in zip(questions, short, strict=True)]
    words = _Words([(text, one) for text, one in zip(questions, first, strict=True) if one is not None])
    return tuple(words.best(text, found) for text, found in zip(questions, possible, strict=True))


def _possible(known: OpenedKB, example: Example, hops: int) -> list[Taught]:
    """The paths that fit best."""
    question, said = example.texts[0], example.answer
    wanted = {normalised(answer) for answer in said.answers}
    best: list[Taught] = []
    for topic in gold_topics(known, question, said):
        for path in _told(known, said) if said.path else _searched(known, topic, hops, len(wanted)):
            reached = answer_of(known, topic.entity, path)
            fit = f1(known.plain_names(reached), wanted) if reached and len(reached) <= 4 * len(wanted) + 4 else 0.0
            if fit >= _LEAST or (said.path and reached):
                best.append(Taught(topic=topic, path=path, fit=fit))
    if not best:
        return []
    top = max(one.fit for one in best)
    return [one for one in best if one.fit == top]


def _told(known: OpenedKB, said: KnownAnswers) -> Iterator[Path]:
    paths: list[Path] = [()]
    for name, inverse in said.path:
        paths = [(*path, step) for path in paths for step in known.steps_named(name, inverse=inverse)]
    yield from paths


def _searched(known: OpenedKB, topic: Topic, hops: int, wanted: int) -> Iterator[Path]:
    """All paths from the topic, through sets that are not too large."""
    open_ends: list[tuple[Path, Entities]] = [((), np.array([topic.entity], np.int32))]
    for _ in range(hops):
        following = []
        for path, reached in open_ends:
            for step, there in known.graph.steps(reached).items():
                yield (*path, step)
                if len(there) <= _FRONTIER:
                    following.append(((*path, step), there))
        open_ends = following


class _Words:
    """Which words go with which path (naive Bayes)."""

    def __init__(self, sure: Sequence[tuple[str, Taught]]) -> None:
        self._paths = Counter(one.path for _, one in sure)
        self._words: Counter[tuple[Path, str]] = Counter()
        for question, one in sure:
            self._words.update((one.path, word) for word in parts_of(flat(asked_text(question, one.topic))))

    def best(self, question: str, ways: Sequence[Taught]) -> Taught | None:
        """Of several; the first of those that are as likely."""
        return max(ways, key=lambda way: self._score(parts_of(flat(asked_text(question, way.topic))), way.path), default=None)

    def _score(self, words: frozenset[str], path: Path) -> float:
        often = self._paths[path]
        return math.log(often + 0.1) + sum(math.log((self._words[path, word] + 0.1) / (often + 0.2)) for word in words)
