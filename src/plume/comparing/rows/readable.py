"""Right and given answers of one test row as short text, and whether each is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.comparing.rows.measures import Floats, Summed
from plume.comparing.rows.scores import measures
from plume.readers.example import Example
from plume.readers.schemes import Span, in_characters, spans_of
from plume.tasks.classification import Classification
from plume.tasks.emoji import Emoji
from plume.tasks.multi_label import MultiLabel
from plume.tasks.multiple_choice import MultipleChoice
from plume.tuning.kinds.answering import QuestionAnswering
from plume.tuning.kinds.regression import Regression
from plume.tuning.kinds.tagging import Tagging, TagKind
from plume.tuning.kinds.text_to_text import TextToText
from plume.tuning.task import Prediction, Task
from plume.tuning.writing.worded import ByText

NOTHING = "–"  # no entity, no label, no answer
Texts = tuple[str, dict[str, str]]  # the right answer, and each model's


@singledispatch
def described(task: Task, example: Example, given: Mapping[str, Prediction]) -> Texts:
    """The right answer and each model's, in words."""
    return str(example.answer), {model: str(one) for model, one in given.items()}


@described.register(ByText)
def _(task: ByText, example: Example, given: Mapping[str, Prediction]) -> Texts:
    return described(task.task, example, given)


@described.register(Classification)
def _(task: Classification, example: Example, given: Mapping[str, Prediction]) -> Texts:
    return example.answer, {model: one["label"] for model, one in given.items()}


@described.register(MultiLabel)
def _(task: MultiLabel, example: Example, given: Mapping[str, Prediction]) -> Texts:
    return _listed(sorted(example.answer)), {model: _listed(sorted(one["labels"])) for model, one in given.items()}


@described.register(MultipleChoice)
def _(task: MultipleChoice, example: Example, given: Mapping[str, Prediction]) -> Texts:
    return example.texts[1 + example.answer], {model: example.texts[1 + one["answer"]] for model, one in given.items()}


@described.register(QuestionAnswering)
def _(task: QuestionAnswering, example: Example, given: Mapping[str, Prediction]) -> Texts:
    gold = " / ".join(dict.fromkeys(answer.text for answer in example.answer))
    return gold or NOTHING, {model: one["answer"] or NOTHING for model, one in given.items()}


@described.register(Regression)
def _(task: Regression, example: Example, given: Mapping[str, Prediction]) -> Texts:
    return f"{example.answer:.2f}", {model: f"{one['score']:.2f}" for model, one in given.items()}


@described.register(TextToText)
def _(task: TextToText, example: Example, given: Mapping[str, Prediction]) -> Texts:
    gold = example.answer if isinstance(example.answer, str) else " / ".join(example.answer)
    return gold, {model: one["text"] or NOTHING for model, one in given.items()}


@described.register(Tagging)
def _(task: Tagging, example: Example, given: Mapping[str, Prediction]) -> Texts:
    if task.tags is TagKind.PLAIN:
        return _words(example, given)
    text = example.texts[0]
    gold = in_characters(spans_of(example.answer), example.words) if example.words is not None else list(example.answer)
    found = {
        model: [Span(start=entity["start"], end=entity["end"], label=entity["label"]) for entity in one["entities"]]
        for model, one in given.items()
    }
    wording = _cut if task.tags is TagKind.WORDS else _entities
    return wording(text, gold), {model: wording(text, spans) for model, spans in found.items()}


def right_rows(task: Task, examples: Sequence[Example], predictions: Mapping[str, Sequence[Prediction]]) -> NDArray[np.bool_]:
    """[models, rows]. A number or a written text is hardly ever just right: there it is whether it is better than the median of all."""
    inner = _inner(task)
    values = np.stack([grades(inner, examples, some) for some in predictions.values()])
    return values > np.median(values) if is_graded(task) else values >= 1


def is_graded(task: Task) -> bool:
    """Its answers are better or worse, and hardly ever just right."""
    return isinstance(_inner(task), Regression | TextToText)


def _inner(task: Task) -> Task:
    return task.task if isinstance(task, ByText) else task


@singledispatch
def grades(task: Task, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats:
    """[rows] How good each answer is; 1 for one that is right."""
    return np.array([task.measure([example], [one])[task.metric] for example, one in zip(examples, predictions, strict=True)])


def _by(metric: str) -> Any:
    """By a metric that is a mean over rows."""
    return lambda task, examples, predictions: _statistics(task, examples, predictions, metric)[:, 0]


grades.register(Classification, _by("accuracy"))
grades.register(Emoji, _by("top1"))
grades.register(MultiLabel, _by("exact"))
grades.register(MultipleChoice, _by("accuracy"))
grades.register(QuestionAnswering, _by("exact_match"))
grades.register(TextToText, _by("rougeL"))


@grades.register(Regression)
def _(task: Regression, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats:
    return -np.abs([one["score"] - example.answer for example, one in zip(examples, predictions, strict=True)])


@grades.register(Tagging)
def _(task: Tagging, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats:
    """A sentence is right as a whole: all its tags, or all its spans and no others."""
    counts = _statistics(task, examples, predictions, "accuracy" if task.tags is TagKind.PLAIN else "f1")
    return (counts == counts[:, :1]).all(axis=1).astype(np.float64)


def _statistics(task: Task, examples: Sequence[Example], predictions: Sequence[Prediction], metric: str) -> Floats:
    made = measures(task, examples, predictions)[metric]()
    assert isinstance(made, Summed)
    return made.statistics


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(texts) or NOTHING


def _entities(text: str, spans: Sequence[Span]) -> str:
    """
    >>> _entities("Ada came to Paris", [Span(start=12, end=17, label="LOC"), Span(start=0, end=3, label="PER")])
    'Ada [PER], Paris [LOC]'
    """
    return _listed([f"{text[span.start : span.end]} [{span.label}]" for span in sorted(spans, key=lambda span: span.start)])


def _cut(text: str, spans: Sequence[Span]) -> str:
    return " | ".join(text[span.start : span.end] for span in sorted(spans, key=lambda span: span.start)) or NOTHING


def _words(example: Example, given: Mapping[str, Prediction]) -> Texts:
    """Only the words that some model has wrong."""
    text = example.texts[0]
    places = example.words or [(word["start"], word["end"]) for word in next(iter(given.values()))["words"]]
    shown = [place for place, tag in enumerate(example.answer) if any(one["tags"][place] != tag for one in given.values())]

    def wording(tags: Sequence[str]) -> str:
        return _listed([f"{text[places[place][0] : places[place][1]]} [{tags[place]}]" for place in shown])

    return wording(example.answer), {model: wording(one["tags"]) for model, one in given.items()}
