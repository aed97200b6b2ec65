"""The rows on which models are divided: which, in what words, and who is right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from plume.comparing.rows.disagreements import disagreements, right_rows
from plume.readers.example import Example
from plume.readers.schemes import Span
from plume.readers.squad_answers import GoldAnswer
from plume.tasks.classification import TASK as CLASSIFICATION
from plume.tasks.multi_label import TASK as MULTI_LABEL
from plume.tasks.multiple_choice import TASK as MULTIPLE_CHOICE
from plume.tasks.ner import TASK as NER
from plume.tasks.pos import TASK as POS
from plume.tasks.qa import TASK as QA
from plume.tasks.segmentation import TASK as SEGMENTATION
from plume.tasks.similarity import TASK as SIMILARITY
from plume.tasks.summarisation import TASK as SUMMARISATION

LABELS = replace(CLASSIFICATION, labels=("a", "b", "c"))


def _labels(*texts: str) -> list[dict[str, Any]]:
    return [{"label": label} for label in texts]


def _entity(start: int, end: int, label: str) -> dict[str, Any]:
    return {"start": start, "end": end, "label": label, "text": ""}


def test_only_divided_rows_the_most_divided_first() -> None:
    examples = [Example(texts=(f"row {row}",), answer="a") for row in range(4)]
    given = {
        "m0": _labels("a", "b", "a", "a"),
        "m1": _labels("a", "b", "a", "a"),
        "m2": _labels("a", "c", "b", "a"),
        "m3": _labels("a", "b", "b", "b"),
    }
    found = disagreements(LABELS, examples, given)
    assert [one.row for one in found] == [2, 3]  # all are right on 0 and wrong on 1; 2 divides them in half
    assert (found[0].task, found[0].texts, found[0].gold) == ("classification", ("row 2",), "a")
    assert found[0].answers == {"m0": "a", "m1": "a", "m2": "b", "m3": "b"}
    assert found[1].right == {"m0": True, "m1": True, "m2": True, "m3": False}
    assert disagreements(LABELS, examples, {"m0": given["m0"]}) == []
    assert disagreements(LABELS, [], {"m0": [], "m1": []}) == []


def test_many_rows_are_varied_and_the_same_each_time() -> None:
    chance = np.random.default_rng(0)
    gold = ["a"] * 900 + ["b"] * 50 + ["c"] * 50
    examples = [Example(texts=(str(row),), answer=label) for row, label in enumerate(gold)]
    given = {f"m{model}": _labels(*chance.choice(["a", "b", "c"], 1000).tolist()) for model in range(4)}
    found = disagreements(LABELS, examples, given, most=30)
    assert len({one.row for one in found}) == 30
    counts = Counter(one.gold for one in found)
    assert min(counts["b"], counts["c"]) >= 5  # of 30 rows by chance, 3 would be of both
    assert len({tuple(one.right.values()) for one in found}) >= 6
    assert found == disagreements(LABELS, examples, given, most=30)
    assert found != disagreements(LABELS, examples, given, most=30, seed=1)


def test_entities_in_words() -> None:
    text, words = "Ada Lovelace came to Paris", ((0, 3), (4, 12), (13, 17), (18, 20), (21, 26))
    example = Example(texts=(text,), answer=("B-PER", "I-PER", "O", "O", "B-LOC"), words=words)
    right = {"tags": list(example.answer), "entities": [_entity(21, 26, "LOC"), _entity(0, 12, "PER")]}
    wrong = {"tags": ["B-PER", "O", "O", "O", "B-LOC"], "entities": [_entity(0, 3, "PER"), _entity(21, 26, "LOC")]}
    none = {"tags": ["O"] * 5, "entities": []}
    (found,) = disagreements(NER, [example], {"right": [right], "wrong": [wrong], "none": [none]})
    assert found.gold == "Ada Lovelace [PER], Paris [LOC]"
    assert found.answers == {"right": "Ada Lovelace [PER], Paris [LOC]", "wrong": "Ada [PER], Paris [LOC]", "none": "–"}
    assert found.right == {"right": True, "wrong": False, "none": False}


def test_spans_in_characters() -> None:
    example = Example(texts=("我在北京",), answer=(Span(start=2, end=4, label="LOC"),))
    given = {"m0": {"tags": [], "entities": [_entity(2, 4, "LOC")]}, "m1": {"tags": [], "entities": [_entity(2, 4, "ORG")]}}
    assert NER.readable(example, given) == ("北京 [LOC]", {"m0": "北京 [LOC]", "m1": "北京 [ORG]"})
    assert right_rows(NER, [example], {model: [one] for model, one in given.items()}).tolist() == [[True], [False]]
    cut = replace(example, answer=(Span(start=0, end=1, label="W"), Span(start=1, end=2, label="W"), Span(start=2, end=4, label="W")))
    given = {"m0": {"tags": [], "entities": [_entity(0, 2, "W"), _entity(2, 4, "W")]}}
    assert SEGMENTATION.readable(cut, given) == ("我 | 在 | 北京", {"m0": "我在 | 北京"})


def test_of_tags_only_the_words_that_some_have_wrong() -> None:
    example = Example(texts=("the old man",), answer=("DET", "ADJ", "NOUN"), words=((0, 3), (4, 7), (8, 11)))
    given = {"m0": {"tags": ["DET", "NOUN", "VERB"]}, "m1": {"tags": ["DET", "ADJ", "NOUN"]}}
    assert POS.readable(example, given) == ("old [ADJ], man [NOUN]", {"m0": "old [NOUN], man [VERB]", "m1": "old [ADJ], man [NOUN]"})
    assert right_rows(POS, [example], {model: [one] for model, one in given.items()}).tolist() == [[False], [True]]


def test_other_answers_in_words() -> None:
    example = Example(texts=("x",), answer=["b", "a"])
    assert MULTI_LABEL.readable(example, {"m": {"labels": []}}) == ("a, b", {"m": "–"})
    assert MULTIPLE_CHOICE.readable(Example(texts=("x", "one", "two"), answer=1), {"m": {"answer": 0}}) == ("two", {"m": "one"})
    asked = Example(texts=("q", "c"), answer=(GoldAnswer("in Rome", 0), GoldAnswer("Rome", 3), GoldAnswer("Rome", 3)))
    assert QA.readable(asked, {"m": {"answer": ""}}) == ("in Rome / Rome", {"m": "–"})
    assert right_rows(QA, [asked], {"m": [{"answer": "rome"}], "n": [{"answer": "Roma"}]}).tolist() == [[True], [False]]
    assert SIMILARITY.readable(Example(texts=("x", "y"), answer=2.0), {"m": {"score": 1.23456}}) == ("2.00", {"m": "1.23"})


def test_graded_answers_are_right_where_they_are_better_than_most() -> None:
    examples = [Example(texts=("x", "y"), answer=float(row)) for row in range(3)]
    near, far = [{"score": row + 0.1} for row in range(3)], [{"score": row - 2.0} for row in range(3)]
    assert right_rows(SIMILARITY, examples, {"near": near, "far": far}).tolist() == [[True] * 3, [False] * 3]
    examples = [Example(texts=("x",), answer="the cat sat on the mat")]
    given = {"good": [{"text": "the cat sat"}], "bad": [{"text": "dogs"}]}
    assert right_rows(SUMMARISATION, examples, given).tolist() == [[True], [False]]
    (found,) = disagreements(SUMMARISATION, examples, given)
    assert found.answers == {"good": "the cat sat", "bad": "dogs"}
