"""Where one stands while answering a question, and the ways on from there: what is compared with each other, and what is counted of each."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plume.kb.graph import Entities, Hop, Path
from plume.kb.link import NamedPlace, all_named
from plume.kb.names import flat
from plume.tuning.knowledge.likeness import Alike, parts_of
from plume.tuning.knowledge.opened import OpenedKB

# Before anything is learned: shared letters and near vectors decide, and of the things named the longest. The order is that of `counts_of`.
START = (1.0, 1.0, 1.0, 10.0, 0.0, -2.0, 6.0, 1.0, 2.0, 2.0, 0.5, 10.0)
BUCKETS = 1 << 15  # of crossings
CROSSINGS = 24  # of a row: words of the question; of more, the first
_CANDIDATES = 5  # meanings of a name
_TOPICS = 12  # things a question may be about
_FRONTIER = 2000  # entities from which one goes on; of more, the first
_AMONG = 200  # ways on that are compared
Counts = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Topic:
    """What a question may be about."""

    entity: int
    start: int  # where the question names it
    end: int
    prior: float
    counts: tuple[float, float, float, float]  # share of the question, prior, no longer name around it, written just so


@dataclass(frozen=True, kw_only=True)
class WayOn:
    """A way on: a topic and a path from it, which may end there."""

    topic: Topic
    path: Path
    ended: bool = False


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A question and its ways on. At first they are the first steps from every topic; then the next step or the end."""

    question: str
    ways: tuple[WayOn, ...]


def topics_of(known: OpenedKB, question: str, *, named: Sequence[NamedPlace] | None = None) -> list[Topic]:
    """All that it names, over each other too; what has no triple is left out."""
    places = all_named(known.kb, question) if named is None else named
    found = []
    for place in places:
        inside = any(other.start <= place.start and place.end <= other.end and other != place for other in places)
        for one in place.candidates[:_CANDIDATES]:
            if known.graph.degree(one.entity):
                exact = known.kb.name_of(one.entity) == question[place.start : place.end]
                share = (place.end - place.start) / max(len(question), 1)
                counts = (share, one.prior, float(not inside), float(exact))
                found.append(Topic(entity=one.entity, start=place.start, end=place.end, prior=one.prior, counts=counts))
    return sorted(found, key=lambda one: (-one.counts[2], -one.counts[0], -one.prior))[:_TOPICS]


def begin(known: OpenedKB, question: str, topics: Sequence[Topic]) -> Situation:
    """The first steps from all topics."""
    ways = [
        WayOn(topic=topic, path=(step,)) for topic in topics for step in known.graph.steps(np.array([topic.entity], np.int32))
    ]  # fmt: skip
    return Situation(question=question, ways=tuple(_likeliest(known, question, ways)))


def go_on(known: OpenedKB, question: str, way: WayOn, reached: Entities) -> Situation:
    """To end there, or the next steps."""
    steps = known.graph.steps(reached[:_FRONTIER])
    further = [WayOn(topic=way.topic, path=(*way.path, step)) for step in steps]
    ended = WayOn(topic=way.topic, path=way.path, ended=True)
    return Situation(question=question, ways=(ended, *_likeliest(known, question, further)))


def _likeliest(known: OpenedKB, question: str, ways: Sequence[WayOn]) -> Sequence[WayOn]:
    """By what is counted, where there are too many to be read."""
    if len(ways) <= _AMONG:
        return ways
    scores = np.array(counts_of(known, [(question, way) for way in ways])) @ np.array(START)
    return [ways[place] for place in np.sort(np.argsort(-scores, kind="stable")[:_AMONG]).tolist()]


def asked_text(question: str, topic: Topic, mark: str = "*") -> str:
    """The question with a mark where the topic stood."""
    return f"{question[: topic.start]}{mark}{question[topic.end :]}"


def counts_of(known: OpenedKB, ways: Sequence[tuple[str, WayOn]]) -> list[Counts]:
    """Of each question and way on, in the order of `START`."""
    return [(*_counts(known, *one), near) for one, near in zip(ways, _nearness(known, ways), strict=True)]


def _nearness(known: OpenedKB, ways: Sequence[tuple[str, WayOn]]) -> list[float]:
    """Of the vectors of the question without its topic and of the last step; 0 without vectors."""
    if known.nearness is None:
        return [0.0] * len(ways)
    compared = [(asked_text(question, way.topic, mark=""), known.relations[way.path[-1].relation]) for question, way in ways]
    known.nearness.read(text for pair in compared for text in pair)
    return [0.0 if way.ended else known.nearness.alike(*pair) for (_, way), pair in zip(ways, compared, strict=True)]


def _counts(known: OpenedKB, question: str, way: WayOn) -> Counts:
    step = way.path[-1]
    if way.ended:
        return (*Alike(0.0, 0.0, 0.0, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    used = [known.relations[before.relation] for before in way.path[:-1]]
    alike = known.likeness.of(flat(asked_text(question, way.topic)), known.relations[step.relation], used)
    often = math.log1p(float(known.graph.often[step.relation])) / 10
    topic = way.topic.counts if len(way.path) == 1 else (0.0, 0.0, 0.0, 0.0)
    return (*alike, often, float(step.inverse), topic[0], topic[1], topic[2], 0.0, topic[3])


def crossings_of(known: OpenedKB, question: str, way: WayOn) -> list[int]:
    """Each word of the question with the last step, hashed: which words ask for which relation, and for an end there."""
    step = way.path[-1]
    choice = f"{known.relations[step.relation]}\t{step.inverse:d}{way.ended:d}{min(len(way.path), 3)}"
    words = sorted(parts_of(flat(asked_text(question, way.topic))))[:CROSSINGS]
    found = [1 + zlib.crc32(f"{word}\t{choice}".encode()) % (BUCKETS - 1) for word in words]
    return found + [0] * (CROSSINGS - len(found))


def answer_of(known: OpenedKB, topic: int, path: Path) -> list[int]:
    """Where a path ends; after several steps the topic itself is no answer, however often they came by it (MetaQA's convention)."""
    reached = known.graph.walk(topic, path).tolist()
    return [one for one in reached if one != topic] if len(path) > 1 else reached


def spelled_alike(known: OpenedKB, question: str, topic: Topic, taken: set[int], count: int, generator: np.random.Generator) -> list[WayOn]:
    """Relations that the topic has not, half of them those that share most letters with the question: from these it learns most."""
    others = np.array([number for number in range(len(known.relations)) if number not in taken])
    if not len(others):
        return []
    drawn = generator.permutation(others)[: 40 * count].tolist()
    text = flat(asked_text(question, topic))
    drawn.sort(key=lambda number: -sum(known.likeness.of(text, known.relations[number])))
    chosen = drawn[: (count + 1) // 2] + generator.permutation(drawn[(count + 1) // 2 :])[: count // 2].tolist()
    return [WayOn(topic=topic, path=(Hop(int(number)),)) for number in chosen]
