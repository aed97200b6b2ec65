"""Of every kind of task: the score over all rows and over resamples is what the task itself measures."""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plume.comparing.significance.resampling import resample
from plume.core.catalog import load, names
from plume.core.errors import PlumeError
from plume.metrics.resampled.measures import Remeasured
from plume.readers.example import Example
from plume.readers.schemes import Span
from plume.readers.squad_answers import GoldAnswer
from plume.tasks.classification import TASK as CLASSIFICATION
from plume.tasks.emoji import TASK as EMOJI
from plume.tasks.multi_label import TASK as MULTI_LABEL
from plume.tasks.multiple_choice import TASK as MULTIPLE_CHOICE
from plume.tasks.ner import TASK as NER
from plume.tasks.nli import TASK as NLI
from plume.tasks.paraphrase import TASK as PARAPHRASE
from plume.tasks.pos import TASK as POS
from plume.tasks.qa import TASK as QA
from plume.tasks.regression import TASK as REGRESSION
from plume.tasks.segmentation import TASK as SEGMENTATION
from plume.tasks.similarity import TASK as SIMILARITY
from plume.tasks.summarisation import TASK as SUMMARISATION
from plume.tasks.text_to_text import TASK as TEXT_TO_TEXT
from plume.tasks.translation import TASK as TRANSLATION
from plume.tuning.task import Prediction, Task

Rows = tuple[Task, list[Example], list[Prediction]]
Chance = np.random.Generator
ENGLISH = [
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "under",
    "mat,",
    "tree.",
    "Big",
    "small:",
    "house",
    "New-York",
    "1998",
    "(and)",
    "it’s",
]
CHINESE = list("我爱北京天安门太阳升中国人民，。大小好")


def _choice(chance: Chance, values: Any, size: int) -> list[Any]:
    return [values[place] for place in chance.integers(len(values), size=size)]


def labels(chance: Chance, task: Any = CLASSIFICATION, **options: Any) -> Rows:
    known = ("a", "b", "c", "never")
    gold = _choice(chance, ("a", "b", "c", "unseen"), 40)
    given = _choice(chance, ("a", "a", "b", "c", "no label"), 40)
    return replace(task, labels=known, **options), [Example(texts=("x",), answer=one) for one in gold], [{"label": one} for one in given]


def emojis(chance: Chance) -> Rows:
    known = tuple("abcdefgh")
    scores = np.round(chance.dirichlet(np.ones(8), 40), 1)  # with ties
    given = [{"scores": dict(zip(known, row, strict=True))} for row in scores.tolist()]
    return replace(EMOJI, labels=known), [Example(texts=("x",), answer=one) for one in _choice(chance, "abcdefghz", 40)], given


def sets(chance: Chance) -> Rows:
    def some(values: str) -> list[list[str]]:
        return [[one for one in values if chance.random() < 0.3] for _ in range(40)]

    return (
        replace(MULTI_LABEL, labels=tuple("abcd")),
        [Example(texts=("x",), answer=one) for one in some("abcu")],
        [{"labels": one} for one in some("abcdz")],
    )


def choices(chance: Chance) -> Rows:
    gold, given = chance.integers(3, size=(2, 40)).tolist()
    return MULTIPLE_CHOICE, [Example(texts=("x", "1", "2", "3"), answer=one) for one in gold], [{"answer": one} for one in given]


def tags(chance: Chance, task: Any, values: tuple[str, ...]) -> Rows:
    lengths = [0, *chance.integers(1, 9, size=39).tolist()]
    gold, given = ([_choice(chance, values, length) for length in lengths] for _ in range(2))
    given = [ours if chance.random() < 0.4 else theirs for ours, theirs in zip(gold, given, strict=True)]
    examples = [Example(texts=("x",), answer=tuple(one), words=((0, 1),) * len(one)) for one in gold]
    return task, examples, [{"tags": one} for one in given]


def spans(chance: Chance) -> Rows:
    def some() -> list[Span]:
        return [
            Span(start=place, end=place + int(chance.integers(1, 3)), label=str(chance.choice(["PER", "LOC"])))
            for place in (0, 2, 4)
            if chance.random() < 0.6
        ]

    given = [{"entities": [vars(span) for span in some()]} for _ in range(40)]
    return NER, [Example(texts=("abcdef",), answer=tuple(some())) for _ in range(40)], given


def text(chance: Chance, words: list[str], joint: str, longest: int = 12) -> str:
    return joint.join(_choice(chance, words, int(chance.integers(0, longest))))


def answers(chance: Chance, words: list[str], joint: str, *, unanswerable: bool) -> Rows:
    few = words[:5]
    gold = [tuple(GoldAnswer(text(chance, few, joint, 4) or few[0], 0) for _ in range(chance.integers(1, 3))) for _ in range(40)]
    if unanswerable:
        gold[::3] = [()] * len(gold[::3])
    return QA, [Example(texts=("q", "c"), answer=one) for one in gold], [{"answer": text(chance, few, joint, 4)} for _ in gold]


def numbers(chance: Chance, task: Any) -> Rows:
    gold = np.round(chance.normal(2, 1, 40), 0) + 1000
    given = np.round(gold + chance.normal(0, 1, 40), 1)
    return task, [Example(texts=("x",), answer=one) for one in gold.tolist()], [{"score": one} for one in given.tolist()]


def texts(chance: Chance, task: Any, words: list[str], joint: str, *, many: bool = False) -> Rows:
    gold = [(text(chance, words, joint) or words[0], text(chance, words, joint) or words[1]) for _ in range(40)]
    given = [ours if chance.random() < 0.2 else text(chance, words, joint) for ours, _ in gold]
    return task, [Example(texts=("x",), answer=one if many else one[0]) for one in gold], [{"text": one} for one in given]


BIO = ("O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC")
CASES: dict[str, Callable[[Chance], Rows]] = {
    "accuracy": lambda chance: labels(chance),
    "macro_f1": lambda chance: labels(chance, metric="macro_f1"),
    "mcc": lambda chance: labels(chance, metric="mcc"),
    "nli": lambda chance: labels(chance, NLI),
    "paraphrase": lambda chance: labels(chance, PARAPHRASE),
    "paraphrase f1": lambda chance: labels(chance, PARAPHRASE, metric="f1", positive="b"),
    "emoji": emojis,
    "emoji top5": lambda chance: (replace(emojis(chance)[0], metric="top5"), *emojis(chance)[1:]),
    "multi-label": sets,
    "choice": choices,
    "ner": lambda chance: tags(chance, NER, BIO),
    "ner of spans": spans,
    "segmentation": lambda chance: tags(chance, SEGMENTATION, ("B", "I", "I")),
    "pos": lambda chance: tags(chance, POS, ("NOUN", "VERB", "X")),
    "squad": lambda chance: answers(chance, ENGLISH, " ", unanswerable=False),
    "squad 2": lambda chance: answers(chance, ENGLISH, " ", unanswerable=True),
    "cmrc": lambda chance: answers(chance, CHINESE, "", unanswerable=False),
    "pearson": lambda chance: numbers(chance, REGRESSION),
    "spearman": lambda chance: numbers(chance, SIMILARITY),
    "rouge": lambda chance: texts(chance, SUMMARISATION, ENGLISH, " "),
    "rouge of two": lambda chance: texts(chance, SUMMARISATION, CHINESE, "", many=True),
    "bleu": lambda chance: texts(chance, TRANSLATION, ENGLISH, " "),
    "bleu of two": lambda chance: texts(chance, TRANSLATION, CHINESE, "", many=True),
    "chrf": lambda chance: texts(chance, TEXT_TO_TEXT, ENGLISH, " "),
    "chrf of two": lambda chance: texts(chance, TEXT_TO_TEXT, CHINESE, "", many=True),
}
OTHERS = {
    "emoji": ("macro_f1",),
    "multi-label": ("macro_f1", "exact"),
    "ner": ("precision", "recall", "accuracy", "f1/PER", "f1/LOC"),
    "pos": ("macro_f1",),
    "squad 2": ("exact_match",),
    "cmrc": ("exact_match",),
    "chrf": ("exact", "rouge1", "rouge2"),
}
EVERY = [(name, None) for name in CASES] + [(name, metric) for name, others in OTHERS.items() for metric in others]


@pytest.mark.parametrize(("name", "metric"), EVERY)
def test_the_score_is_what_the_task_measures(name: str, metric: str | None) -> None:
    for seed in range(3):
        task, examples, predictions = CASES[name](np.random.default_rng(seed))
        task = task if metric is None else replace(task, metric=metric)
        made = task.row_scores(examples, predictions)
        assert not isinstance(made, Remeasured)
        assert made.score == pytest.approx(task.measure(examples, predictions)[task.metric], abs=1e-9)


@pytest.mark.parametrize(("name", "metric"), [one for one in EVERY if "/" not in (one[1] or "")])
def test_a_resample_scores_as_its_rows_do(name: str, metric: str | None) -> None:
    chance = np.random.default_rng(5)
    task, examples, predictions = CASES[name](chance)
    task = task if metric is None else replace(task, metric=metric)
    weights = chance.multinomial(len(examples), np.full(len(examples), 1 / len(examples)), size=3).astype(float)
    if name == "squad 2":
        weights[:, 0] += 1  # a resample without unanswerable questions would go by another script
    slow = Remeasured(rows=len(examples), task=task, examples=examples, predictions=predictions)
    assert task.row_scores(examples, predictions).resampled(weights) == pytest.approx(slow.resampled(weights), abs=1e-9)


def test_no_kind_of_task_is_measured_slowly() -> None:
    """A new task joins by its file in plume/tasks."""
    tasks = [one for name in names("tasks") if isinstance(one := load("tasks", name).TASK, Task)]
    assert len(tasks) >= 15
    assert [task.kind for task in tasks if type(task).row_measures is Task.row_measures] == []


def test_constant_numbers_correlate_with_nothing() -> None:
    for task in (REGRESSION, SIMILARITY):
        examples = [Example(texts=("x",), answer=float(number)) for number in range(9)]
        assert task.row_scores(examples, [{"score": 0.3}] * 9).score == 0.0


def test_a_metric_that_is_only_known_to_the_task_is_measured_by_it() -> None:
    task, examples, predictions = answers(np.random.default_rng(0), ENGLISH, " ", unanswerable=True)
    task = replace(task, metric="has_answer/f1")
    made = task.row_scores(examples, predictions)
    assert isinstance(made, Remeasured)
    assert made.score == task.measure(examples, predictions)["has_answer/f1"]


def test_what_cannot_be_compared_is_said() -> None:
    task, examples, predictions = numbers(np.random.default_rng(0), REGRESSION)
    with pytest.raises(PlumeError, match="less is"):
        replace(task, metric="mse").row_scores(examples, predictions)
    with pytest.raises(PlumeError, match="'f2' is not measured here: choose from mse, pearson, spearman"):
        replace(task, metric="f2").row_scores(examples, predictions)
    with pytest.raises(PlumeError, match="39 predictions for 40 test rows"):
        task.row_scores(examples, predictions[1:])


def test_resampling_does_no_work_of_pythons_for_each_draw_or_row() -> None:
    """72,000 scores on 1,000 rows: as many calls as for a tenth of the draws, but for the lots that bound the memory."""
    chance = np.random.default_rng(0)
    rows = [tags(chance, NER, BIO) for _ in range(25)]
    examples = [example for _, some, _ in rows for example in some]
    predictions = [one for _, _, some in rows for one in some]
    made = NER.row_scores(examples, predictions)
    with cProfile.Profile() as counted:
        table = resample("ner", {f"m{model}": dict.fromkeys(range(3), made) for model in range(12)}, resamples=2000, seed=0)
    assert sum(line.callcount for line in counted.getstats()) < 5000
    assert table["m11"].draws.shape == (3, 2000)
    assert table["m0"].draws.mean() == pytest.approx(made.score, abs=0.01)
