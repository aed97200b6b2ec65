"""What callers in Python hand over, and labels of every look."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import part_from_json, replace
from plume.readers.example import Example
from plume.tasks.classification import TASK as CLASSIFICATION
from plume.tasks.multiple_choice import TASK as MULTIPLE_CHOICE
from plume.tasks.qa import TASK as QA
from plume.tasks.zero_shot import TASK as ZERO_SHOT
from plume.tuning.kinds.labelling import lay_out_texts
from plume.tuning.rows.rows import Coder


@pytest.mark.parametrize("item", [5, None, [], {"a": 1}, ("a", 5), [None], b"a"])
def test_a_text_or_a_pair(item: Any) -> None:
    with pytest.raises(PlumeError, match="a text or a pair of texts is expected"):
        CLASSIFICATION.example(item)


@pytest.mark.parametrize("item", [5, None, "ab", ("a",), ("a", 5), {"context": 5, "question": "a"}, {"question": "a"}])
def test_a_question_and_its_context(item: Any) -> None:
    with pytest.raises(PlumeError, match="question"):
        QA.example(item)
    assert QA.example({"question": "a", "context": "b"}) == QA.example(("a", "b")) == Example(texts=("a", "b"))


@pytest.mark.parametrize(
    "item",
    [5, None, {"context": 5, "choices": ["a", "b"]}, {"context": "a", "choices": 5}, {"context": "a", "choices": "bc"},
     {"context": "a", "choices": ["b", 5]}, {"context": "a", "choices": ["b"]}, {"choices": ["a", "b"]}],
)  # fmt: skip
def test_a_context_and_its_choices(item: Any) -> None:
    with pytest.raises(PlumeError, match="choices"):
        MULTIPLE_CHOICE.example(item)
    assert MULTIPLE_CHOICE.example({"context": "a", "choices": ["b", "c"]}).texts == ("a", "b", "c")


def test_labels_that_look_like_numbers() -> None:
    labels = ["②", "①", "²", "--5", "10", "-2", "9", "a"]
    learned = CLASSIFICATION.learned([Example(texts=("a",), answer=label) for label in labels])
    assert learned.labels[:3] == ("-2", "9", "10") and set(learned.labels) == set(labels)


def test_a_pair_among_texts_is_not_cut_in_half(miniature: Any, tokenizer_for: Any) -> None:
    coder = Coder(tokenizer_for(miniature("bert")), length=32)
    for texts in ([("a",), ("the cat", "the bird")], [("the cat", "the bird"), ("a",)], [("a", "b", "c")], [()]):
        with pytest.raises(PlumeError, match="One text each is read, or a pair each"):
            lay_out_texts([Example(texts=row) for row in texts], coder)
    assert len(lay_out_texts([Example(texts=row) for row in (("a", "b"), ("the cat", "the bird"))], coder)[0]) == 2


@pytest.mark.parametrize(("threshold", "answer"), [(0.0, ""), (0.9, ""), (1.1, "the cat")])
def test_no_answer_needs_a_margin(threshold: float, answer: str, miniature: Any, tokenizer_for: Any) -> None:
    task = replace(QA, unanswerable=True).override(f"threshold={threshold}")
    assert part_from_json(task.to_json()) == task
    coder = Coder(tokenizer_for(miniature("bert")), length=32)
    examples = [task.example(("who", "the cat"))]
    questions, _ = task.questions(examples, coder)
    table = np.zeros((questions.lines, 2), np.float32)
    table[0] = 1.5, 1.5  # "no answer": 3, and the best span has 2
    first, last = np.flatnonzero(questions.rows.text == 1)[[0, -1]]
    table[first, 0] = table[last, 1] = 1.0
    assert task.answers(table, questions, examples)[0]["answer"] == answer


def test_numbers_as_labels_say_nothing_without_training(tmp_path: Any) -> None:
    (tmp_path / "data.tsv").write_text("text\tlabel\na cat\t①\na dog\t-2\n", encoding="utf-8")
    with pytest.raises(PlumeError, match="label '-2' says nothing"):
        ZERO_SHOT.evaluate(None, [tmp_path / "data.tsv"])
