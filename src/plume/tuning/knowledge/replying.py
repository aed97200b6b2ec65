"""An answer with the steps that led to it, as `plume ask` prints them."""

from __future__ import annotations

import math

import numpy as np

from plume.tuning.asked import Edge, Reply, Stage
from plume.tuning.knowledge.answering import Chain, FoundPaths
from plume.tuning.knowledge.opened import OpenedKB

_EDGES = 20
_OTHERS = 5


def as_reply(known: OpenedKB, question: str, found: FoundPaths, note: str | None) -> Reply:
    """In names; the score of each stage is a probability, and that of the reply their product."""
    steps = [] if note is None else [Stage(name="note", said=note, score=1.0)]
    if found.best is None:
        why = "nothing of the knowledge base is named" if not found.topics else "no path from what is named leads anywhere"
        return Reply(question=question, answers=(), score=0.0, steps=(*steps, Stage(name="topic", said=why, score=0.0)))
    best = found.best
    topic = best.way.topic
    share = dict(found.topics)[topic]
    steps.append(_mention(question, found, best))
    steps.append(
        Stage(
            name="topic",
            said=f"{known.kb.name_of(topic.entity)} ({topic.entity})",
            score=share,
            others=tuple(
                (f"{known.kb.name_of(one.entity)} ({one.entity})", score) for one, score in found.topics[: _OTHERS + 1] if one != topic
            ),
        )
    )
    for place, step in enumerate(best.way.path):
        score = math.exp(best.steps[place] - (math.log(share) if place == 0 else 0.0))
        steps.append(Stage(name=f"relation {place + 1}", said=known.said((step,)), score=score))
    others = tuple((_path(known, chain), math.exp(chain.score)) for chain in found.chains[1 : _OTHERS + 1])
    steps.append(Stage(name="path", said=_path(known, best), score=math.exp(best.score), others=others))
    return Reply(
        question=question, answers=tuple(known.kb.name_of(one) for one in found.answers), score=math.exp(best.score), steps=tuple(steps),
        graph=_edges(known, best, found.answers),
    )  # fmt: skip


def _mention(question: str, found: FoundPaths, best: Chain) -> Stage:
    places: dict[tuple[int, int], float] = {}
    for topic, share in found.topics:
        place = (topic.start, topic.end)
        places[place] = places.get(place, 0.0) + share
    own = (best.way.topic.start, best.way.topic.end)
    others = sorted(((question[slice(*place)], share) for place, share in places.items() if place != own), key=lambda one: -one[1])
    return Stage(name="mention", said=question[slice(*own)], score=places[own], others=tuple(others[:_OTHERS]))


def _path(known: OpenedKB, chain: Chain) -> str:
    return f"{known.kb.name_of(chain.way.topic.entity)}: {known.said(chain.way.path)}"


def _edges(known: OpenedKB, best: Chain, answers: tuple[int, ...]) -> tuple[Edge, ...]:
    """The triples that lead to the answers, from the last step back; so many at most."""
    layers = [np.array([best.way.topic.entity], np.int32)]
    for step in best.way.path:
        layers.append(known.graph.follow(layers[-1], step))
    wanted = set(answers)
    edges: list[Edge] = []
    for step, before in zip(reversed(best.way.path), reversed(layers[:-1]), strict=True):
        needed = set()
        for entity in before.tolist():
            for other in known.graph.follow(np.array([entity], np.int32), step).tolist():
                if other in wanted and len(edges) < _EDGES:
                    subject, object = (other, entity) if step.inverse else (entity, other)
                    edges.append(
                        Edge(source=known.kb.name_of(subject), label=known.kb.relations[step.relation], target=known.kb.name_of(object))
                    )
                    needed.add(entity)
        wanted = needed
    return tuple(reversed(edges))
