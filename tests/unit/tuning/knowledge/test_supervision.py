"""Paths found by the answers alone, against a walk over the triples by hand; and what cannot be taught is left out."""

from pathlib import Path

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.kb.building import build
from plume.kb.graph import Hop, KnowledgeGraph
from plume.readers.example import Example
from plume.readers.kb_questions import KnownAnswers
from plume.tuning.knowledge.opened import OpenedKB, opened, relation_text
from plume.tuning.knowledge.situations import answer_of, begin, topics_of
from plume.tuning.knowledge.supervision import teach

TRIPLES = [
    ("Heat", "directed by", "Mann"), ("Ali", "directed by", "Mann"), ("Mann", "born in", "Chicago"), ("Heat", "year", "1995"),
    ("Ali", "year", "2001"), ("Heat", "written by", "Mann"), ("Self", "knows", "Self"), ("a", "next", "b"), ("b", "next", "a"),
]  # fmt: skip


@pytest.fixture
def known(tmp_path: Path) -> OpenedKB:
    (tmp_path / "t.tsv").write_text("".join("\t".join(one) + "\n" for one in TRIPLES), encoding="utf-8")
    build([tmp_path / "t.tsv"], tmp_path / "kb").close()
    return opened(str(tmp_path / "kb"))


def asked(question: str, *answers: str, **said: object) -> Example:
    return Example(texts=(question,), answer=KnownAnswers(answers=answers, **said))  # type: ignore[arg-type]


def path_of(known: OpenedKB, example: Example, hops: int = 3) -> list[str] | None:
    (taught,) = teach(known, (example,), hops)
    return None if taught is None else [known.said((step,)) for step in taught.path]


def test_steps_are_those_of_the_triples() -> None:
    generator = np.random.default_rng(3)
    triples = {tuple(row) for row in generator.integers(0, [12, 4, 12], (60, 3)).tolist()}
    graph = KnowledgeGraph.__new__(KnowledgeGraph)
    rows = np.array(sorted(triples), np.int32)
    graph.__init__(_Bare(rows))  # type: ignore[misc]
    for some in ([3], [0, 5, 11], list(range(12))):
        found = {step: there.tolist() for step, there in graph.steps(np.array(some, np.int32)).items()}
        slow: dict[Hop, set[int]] = {}
        for s, r, o in triples:
            if s in some:
                slow.setdefault(Hop(r), set()).add(o)
            if o in some:
                slow.setdefault(Hop(r, True), set()).add(s)
        assert found == {step: sorted(there) for step, there in slow.items()}


class _Bare:
    """As much of a knowledge base as a graph reads."""

    relations = ("a", "b", "c", "d")

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows

    def triples(self) -> np.ndarray:
        return self._rows


def test_the_path_is_found_by_the_answers(known: OpenedKB) -> None:
    assert path_of(known, asked("when did Heat come out", "1995")) == ["year"]
    assert path_of(known, asked("where was the director of Ali born", "chicago")) == ["directed by", "born in"]
    assert path_of(known, asked("which films did the director of Heat also make", "Ali")) == ["directed by", "(directed by)"]
    assert path_of(known, asked("where was the director of Ali born", "Chicago"), hops=1) is None
    assert path_of(known, asked("what is love", "1995")) is None
    assert path_of(known, asked("who directed Heat", "Mann", topic="Heat", path=(("Written By", False),))) == ["written by"]


def test_words_tell_paths_apart_that_lead_to_the_same(known: OpenedKB) -> None:
    examples = [
        asked("who directed Ali", "Mann"),
        asked("who wrote Heat", "Mann", path=(("written by", False),)),
        asked("who directed Heat", "Mann"),
    ]
    found = teach(known, tuple(examples), 1)
    assert [known.said(one.path) for one in found if one is not None] == ["directed by", "written by", "directed by"]


def test_cycles_end(known: OpenedKB) -> None:
    """After several steps the topic is no answer; after one it may be, as where something is its own other name."""
    a, own = known.kb.id_of("a"), known.kb.id_of("Self")
    step = Hop(known.kb.relation_of("next"))
    assert answer_of(known, a, (step, step)) == [] and answer_of(known, a, (step, step, step)) == [known.kb.id_of("b")]
    assert answer_of(known, own, (Hop(known.kb.relation_of("knows")),)) == [own]
    assert path_of(known, asked("who comes after a", "b"), hops=3) == ["next"]


def test_topics_and_their_ways(known: OpenedKB) -> None:
    found = topics_of(known, "did Mann direct Heat?")
    assert [known.kb.name_of(one.entity) for one in found] == ["Mann", "Heat"]
    ways = begin(known, "did Mann direct Heat?", found).ways
    assert {known.said(way.path) for way in ways} == {"(directed by)", "born in", "(written by)", "directed by", "written by", "year"}
    assert topics_of(known, "nothing here") == []


def test_relations_as_they_are_compared() -> None:
    assert relation_text("- 面 积[2]") == relation_text("- 面积") and relation_text("Date_of Birth") == "date of birth"


def test_an_empty_knowledge_base_is_refused(tmp_path: Path, known: OpenedKB) -> None:
    from plume.kb.store import Edit

    (tmp_path / "one.tsv").write_text("a\tb\tc\n", encoding="utf-8")
    with build([tmp_path / "one.tsv"], tmp_path / "one") as kb:
        kb.remove([Edit(subject="a", relation="b", object="c")])
        assert kb.count == 0 and len(kb.triples()) == 0
    with pytest.raises(PlumeError, match="is empty: it has no triple"):
        opened(str(tmp_path / "one"))
