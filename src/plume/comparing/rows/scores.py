"""From a task's test rows and a model's answers to something that can be resampled quickly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

from plume.comparing.rows.labels import Measures, choice_rows, emoji_rows, label_rows, multi_label_rows, tagging_rows
from plume.comparing.rows.measures import Remeasured, RowScores
from plume.comparing.rows.texts import answer_rows, number_rows, text_rows
from plume.core.errors import PlumeError
from plume.metrics.scores import ERRORS
from plume.readers.example import Example
from plume.tasks.classification import Classification
from plume.tasks.emoji import Emoji
from plume.tasks.multi_label import MultiLabel
from plume.tasks.multiple_choice import MultipleChoice
from plume.tuning.kinds.answering import QuestionAnswering
from plume.tuning.kinds.regression import Regression
from plume.tuning.kinds.tagging import Tagging
from plume.tuning.kinds.text_to_text import TextToText
from plume.tuning.task import Prediction, Task
from plume.tuning.writing.worded import ByText

__all__ = ["RowScores", "measures", "row_scores"]


def row_scores(task: Task, examples: Sequence[Example], predictions: Sequence[Prediction]) -> RowScores:
    """By the metric that decides; over all rows its score is what `task.measure` says."""
    if len(examples) != len(predictions) or not examples:
        raise PlumeError(
            f"{task.called}: {len(predictions):,} predictions for {len(examples):,} test rows: one for each is needed, and a row at least."
        )
    if task.metric in ERRORS:
        raise PlumeError(
            f"{task.called}: models are compared by a score of which more is better, and of {task.metric} less is: choose another metric."
        )
    made = measures(task, examples, predictions).get(task.metric)
    if made is not None:
        return made()
    if task.metric not in (known := task.measure(examples, predictions)):
        raise PlumeError(f"{task.called}: '{task.metric}' is not measured here: choose from {', '.join(known)}.")
    return Remeasured(rows=len(examples), task=task, examples=examples, predictions=predictions)


@singledispatch
def measures(task: Task, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
    """A task of a kind that is not known here is measured by itself."""
    return {}


measures.register(Classification, label_rows)
measures.register(Emoji, emoji_rows)
measures.register(MultiLabel, multi_label_rows)
measures.register(MultipleChoice, choice_rows)
measures.register(Tagging, tagging_rows)
measures.register(QuestionAnswering, answer_rows)
measures.register(Regression, number_rows)
measures.register(TextToText, text_rows)


@measures.register(ByText)
def _written(task: ByText, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
    """Answers in words are measured as those of a head are."""
    return measures(task.task, examples, predictions)
