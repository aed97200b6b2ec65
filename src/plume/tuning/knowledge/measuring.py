"""How good the answers are, each stage by itself and all together; and what answers without a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plume.kb.names import flat, normalised
from plume.readers.example import Example
from plume.readers.kb_questions import KnownAnswers
from plume.tuning.knowledge.opened import OpenedKB, relation_text
from plume.tuning.knowledge.situations import WayOn, answer_of, asked_text, begin, topics_of
from plume.tuning.knowledge.supervision import f1
from plume.tuning.task import Prediction

FIRST, OVERLAP = "the first triple of the longest name", "the relation that shares most letters, of the longest name"


def row_values(gold: Sequence[KnownAnswers], predictions: Sequence[Prediction]) -> dict[str, list[float]]:
    """Measures that are means over rows."""
    wanted = [{normalised(one) for one in said.answers} for said in gold]
    given = [[normalised(str(one)) for one in prediction["answers"]] for prediction in predictions]
    return {
        "hits@1": [float(bool(some) and some[0] in right) for some, right in zip(given, wanted, strict=True)],
        "f1": [f1(set(some), right) for some, right in zip(given, wanted, strict=True)],
        "exact": [float(set(some) == right) for some, right in zip(given, wanted, strict=True)],
    }


def stage_scores(gold: Sequence[KnownAnswers], predictions: Sequence[Prediction]) -> dict[str, float]:
    """All together; then, of the questions whose topic or path the file says, each stage."""
    scores = {name: float(np.mean(values)) for name, values in row_values(gold, predictions).items()}
    topics = [(said, one) for said, one in zip(gold, predictions, strict=True) if said.topic is not None and "topics" in one]
    if topics:
        scores["topic_named"] = _share([_same(said.topic, one["topics"]) for said, one in topics])
        scores["topic"] = _share([_same(said.topic, [one["topic"]]) for said, one in topics])
    alone = [(said, one["given_topic"]) for said, one in zip(gold, predictions, strict=True) if "given_topic" in one]
    if alone:
        values = row_values([said for said, _ in alone], [one for _, one in alone])
        scores |= {f"given_topic_{name}": float(np.mean(values[name])) for name in ("hits@1", "f1")}
    paths = [(said, one) for said, one in zip(gold, predictions, strict=True) if said.path and "path" in one]
    if paths:
        scores["path"] = _share([_spelled(said.path) == _spelled(one["path"]) for said, one in paths])
    told = [(said, one) for said, one in alone if said.path]
    if told:
        scores["given_topic_path"] = _share([_spelled(said.path) == _spelled(one["path"]) for said, one in told])
    return scores


def baselines(known: OpenedKB, examples: Sequence[Example]) -> dict[str, dict[str, float]]:
    """Of what asks no model: the longest name, and one step from it."""
    found: dict[str, list[Prediction]] = {FIRST: [], OVERLAP: []}
    for example in examples:
        question = example.texts[0]
        topics = topics_of(known, question)
        longest = [one for one in topics if one.end - one.start == max(other.end - other.start for other in topics)]
        ways = [way for way in begin(known, question, longest[:1]).ways if not way.path[0].inverse] if longest else []
        ways = ways or list(begin(known, question, longest[:1]).ways)
        found[FIRST].append(_prediction(known, ways[0] if ways else None))
        best = max(ways, key=lambda way: _overlap(known, question, way), default=None)
        found[OVERLAP].append(_prediction(known, best))
    gold = [example.answer for example in examples]
    return {name: {key: float(np.mean(values)) for key, values in row_values(gold, some).items()} for name, some in found.items()}


def _overlap(known: OpenedKB, question: str, way: WayOn) -> float:
    relation = known.relations[way.path[0].relation]
    asked = flat(asked_text(question, way.topic))
    return sum(letter in asked for letter in relation) / max(len(relation), 1)


def _prediction(known: OpenedKB, way: WayOn | None) -> Prediction:
    return {"answers": [] if way is None else [known.kb.name_of(one) for one in answer_of(known, way.topic.entity, way.path)]}


def _same(name: str | None, names: Sequence[str | None]) -> bool:
    return normalised(name or "") in {normalised(one or "") for one in names}


def _spelled(path: Sequence[Sequence[str | bool]]) -> list[tuple[str, bool]]:
    return [(relation_text(str(name)), bool(inverse)) for name, inverse in path]


def _share(right: Sequence[bool]) -> float:
    return float(np.mean(right)) if right else 0.0
