"""Every task that can be tuned says how its test rows are resampled and how their answers read, in its own file or its kind's."""

from __future__ import annotations

from typing import Any

import pytest

from plume.core.catalog import load, names
from plume.readers.example import Example
from plume.readers.kb_questions import KnownAnswers
from plume.readers.squad_answers import GoldAnswer
from plume.tuning.task import Task

TASKS = {name: task for name in names("tasks") if isinstance(task := load("tasks", name).TASK, Task)}
ROWS: dict[str, tuple[Example, dict[str, Any], str]] = {  # by the part of an answer that is measured: a row, a right answer to it, in words
    "label": (Example(texts=("x",), answer="a"), {"label": "a", "scores": {"a": 1.0}}, "a"),
    "labels": (Example(texts=("x",), answer=["b", "a"]), {"labels": ["a", "b"]}, "a, b"),
    "answer": (Example(texts=("q", "in Rome"), answer=(GoldAnswer("Rome", 3),)), {"answer": "Rome"}, "Rome"),
    "choice": (Example(texts=("x", "one", "two"), answer=1), {"answer": 1}, "two"),
    "score": (Example(texts=("x",), answer=2.0), {"score": 2.0}, "2.00"),
    "text": (Example(texts=("x",), answer="the cat sat on it"), {"text": "the cat sat on it"}, "the cat sat on it"),
    "hops": (
        Example(texts=("q",), answer=("Rome",)),
        {"answer": "Rome", "supporting": [], "nodes": [], "one_document": "", "system_1": ""},
        "Rome",
    ),
    "answers": (Example(texts=("who?",), answer=KnownAnswers(answers=("Ada",))), {"answers": ["Ada"]}, "Ada"),
    "entities": (
        Example(texts=("Ada",), answer=("B-PER",), words=((0, 3),)),
        {"tags": ["B-PER"], "entities": [{"start": 0, "end": 3, "label": "PER"}]},
        "Ada",
    ),
}
ANSWERS = {
    "classification": "label", "nli": "label", "paraphrase": "label", "emoji": "label", "multi-label": "labels", "multiple-choice": "choice",
    "qa": "answer", "regression": "score", "similarity": "score", "summarisation": "text", "text-to-text": "text", "translation": "text",
    "dialogue": "text", "multihop": "hops", "ner": "entities", "pos": "entities", "segmentation": "entities", "kbqa": "answers",
}  # fmt: skip


@pytest.mark.parametrize("name", TASKS)
def test_a_task_brings_its_row_scores_and_its_words(name: str) -> None:
    task = TASKS[name]
    assert type(task).row_measures is not Task.row_measures and type(task).readable is not Task.readable
    if name not in ANSWERS:  # a new task: what follows needs a row of its kind
        pytest.fail(f"say in ANSWERS what {name} answers")
    example, right, words = ROWS[ANSWERS[name]]
    assert task.metric in task.row_measures([example] * 3, [right] * 3)
    assert task.row_scores([example] * 3, [right] * 3).score == pytest.approx(task.measure([example] * 3, [right] * 3)[task.metric])
    gold, given = task.readable(example, {"m": right})
    if name == "pos":  # of tags only those that someone has wrong
        gold, given = task.readable(example, {"m": right, "n": right | {"tags": ["X"]}})
    assert gold == given["m"] and words in gold
    grades = task.grades([example] * 2, [right] * 2)
    assert grades.tolist() == ([0.0, 0.0] if ANSWERS[name] == "score" else [1.0, 1.0])


@pytest.mark.parametrize("name", TASKS)
def test_a_task_in_words_is_compared_as_the_task_itself(name: str) -> None:
    task = TASKS[name]
    example, right, _ = ROWS[ANSWERS[name]]
    worded = task.in_words([example, example])
    assert (worded is not None) == (ANSWERS[name] in ("label", "answer", "score"))
    if worded is not None:
        assert (worded.task, worded.called, worded.labels, worded.metric) == (task, task.called, task.labels, task.metric)
        assert worded.row_measures([example], [right]).keys() == task.row_measures([example], [right]).keys()
        assert worded.readable(example, {"m": right}) == task.readable(example, {"m": right})
        assert worded.graded == task.graded
        assert worded.grades([example], [right]).tolist() == task.grades([example], [right]).tolist()
