"""Test rows of tasks that label: a text, its words, its spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from plume.comparing.rows.measures import Floats, RowScores, f1, macro_f1, matthews, mean_of, share, summed
from plume.readers.example import Example
from plume.readers.schemes import Span, spans_of
from plume.tasks.classification import Classification
from plume.tasks.emoji import Emoji
from plume.tasks.multi_label import MultiLabel
from plume.tasks.multiple_choice import MultipleChoice
from plume.tuning.kinds.tagging import Tagging, TagKind
from plume.tuning.task import Prediction

Measures = dict[str, Callable[[], RowScores]]  # by metric; made when asked for


def label_rows(task: Classification, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
    gold, predicted = [{example.answer} for example in examples], [{one["label"]} for one in predictions]
    everything = sorted(set().union(*gold, *predicted))
    known = sorted({*task.labels, *set().union(*gold)} & set(everything))  # a prediction that is no label has no F1
    of_one: Measures = {"f1": lambda: summed(f1, *class_counts(gold, predicted, [str(task.positive)]))} if task.positive is not None else {}
    return of_one | {
        "accuracy": lambda: mean_of([one == other for one, other in zip(gold, predicted, strict=True)]),
        "macro_f1": lambda: summed(macro_f1, *class_counts(gold, predicted, known)),
        "mcc": lambda: summed(matthews, *class_counts(gold, predicted, everything)),
    }


def emoji_rows(task: Emoji, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
    gold = [example.answer for example in examples]
    labels = [*task.labels, *sorted(set(gold) - set(task.labels))]
    scores = np.array([[one["scores"].get(label, -1.0) for label in labels] for one in predictions])
    right = np.array([labels.index(answer) for answer in gold])[:, None]
    own = np.take_along_axis(scores, right, axis=1)
    # Of equals the first counts as higher: plume.metrics.scores.top_scores says why.
    place = ((scores > own) | ((scores == own) & (np.arange(len(labels)) < right))).sum(axis=1)
    chosen = [{labels[best]} for best in scores.argmax(axis=1).tolist()]
    return {
        "top1": lambda: mean_of(place < 1),
        "top5": lambda: mean_of(place < 5),
        "macro_f1": lambda: summed(macro_f1, *class_counts([{answer} for answer in gold], chosen, labels)),
    }


def multi_label_rows(task: MultiLabel, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
    gold, predicted = [set(example.answer) for example in examples], [set(one["labels"]) for one in predictions]
    known = sorted({*task.labels, *set().union(*gold)})
    return {
        "micro_f1": lambda: summed(f1, *_set_counts(gold, predicted)),
        "macro_f1": lambda: summed(macro_f1, *class_counts(gold, predicted, known)),
        "exact": lambda: mean_of([one == other for one, other in zip(gold, predicted, strict=True)]),
    }


def choice_rows(task: MultipleChoice, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
    right = [example.answer == one["answer"] for example, one in zip(examples, predictions, strict=True)]
    return {"accuracy": lambda: mean_of(right)}


def tagging_rows(task: Tagging, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
    by_word = all(example.words is not None for example in examples)
    words: Measures = {"accuracy": lambda: _share_of_tags(examples, predictions)} if by_word else {}
    if task.tags is TagKind.PLAIN:
        return words | {"macro_f1": lambda: _macro_of_tags(examples, predictions)}
    gold = [gold_spans(example) for example in examples]
    predicted = [predicted_spans(one, by_word=by_word) for one in predictions]
    types = sorted({span.label for spans in (*gold, *predicted) for span in spans})
    each: Measures = {f"f1/{label}": partial(_f1_of_type, gold, predicted, label) for label in types}
    right, found, true = _set_counts(gold, predicted)
    overall: Measures = {
        "f1": lambda: summed(f1, right, found, true),
        "precision": lambda: summed(share, right, found),
        "recall": lambda: summed(share, right, true),
    }
    return words | each | overall


def gold_spans(example: Example) -> set[Span]:
    """In words where the file has words of its own, else in characters."""
    return set(spans_of(example.answer) if example.words is not None else example.answer)


def predicted_spans(prediction: Prediction, *, by_word: bool) -> set[Span]:
    if by_word:
        return set(spans_of(prediction["tags"]))
    return {Span(start=one["start"], end=one["end"], label=one["label"]) for one in prediction["entities"]}


def class_counts(gold: Sequence[set[str]], predicted: Sequence[set[str]], classes: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """[rows, classes] each: right, predicted and gold."""
    right = [one & other for one, other in zip(gold, predicted, strict=True)]
    return _held(right, classes), _held(predicted, classes), _held(gold, classes)


def _held(rows: Sequence[set[str]], classes: Sequence[str]) -> Floats:
    number = {label: place for place, label in enumerate(classes)}
    table = np.zeros((len(rows), len(classes)))
    for row, labels in enumerate(rows):
        table[row, [number[label] for label in labels if label in number]] = 1
    return table


def _set_counts(gold: Sequence[set[Any]], predicted: Sequence[set[Any]]) -> tuple[list[int], list[int], list[int]]:
    right = [len(one & other) for one, other in zip(gold, predicted, strict=True)]
    return right, [len(found) for found in predicted], [len(true) for true in gold]


def _f1_of_type(gold: Sequence[set[Span]], predicted: Sequence[set[Span]], label: str) -> RowScores:
    ours, theirs = ([{span for span in spans if span.label == label} for spans in side] for side in (gold, predicted))
    return summed(f1, *_set_counts(ours, theirs))


def _share_of_tags(examples: Sequence[Example], predictions: Sequence[Prediction]) -> RowScores:
    pairs = [list(zip(example.answer, one["tags"], strict=True)) for example, one in zip(examples, predictions, strict=True)]
    return summed(share, [sum(gold == tag for gold, tag in row) for row in pairs], [len(row) for row in pairs])


def _macro_of_tags(examples: Sequence[Example], predictions: Sequence[Prediction]) -> RowScores:
    gold, predicted = [example.answer for example in examples], [one["tags"] for one in predictions]
    number = {tag: place for place, tag in enumerate(sorted(set().union(*gold, *predicted)))}
    right, found, true = (np.zeros((len(examples), len(number))) for _ in range(3))
    for row, (ours, theirs) in enumerate(zip(gold, predicted, strict=True)):
        one, other = (np.array([number[tag] for tag in tags], np.int64) for tags in (ours, theirs))
        np.add.at(true[row], one, 1)
        np.add.at(found[row], other, 1)
        np.add.at(right[row], one[one == other], 1)
    return summed(macro_f1, right, found, true)
