"""Text classification: one label for a text, or for a pair of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from plume.core.part import replace
from plume.heads.head import Head
from plume.heads.sentence_classification import SentenceClassification
from plume.metrics.resampled.labels import label_rows
from plume.metrics.resampled.measures import Measures
from plume.metrics.scores import label_scores
from plume.readers.example import Example
from plume.tuning.kinds.labelling import LabelTask, choose, softmax
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.task import Prediction, Readable


@dataclass(frozen=True, kw_only=True)
class Classification(LabelTask):
    """One label of several, the likeliest.

    >>> TASK.metric
    'accuracy'
    """

    right_by: ClassVar[str | None] = "accuracy"

    positive: str | None = None  # the class whose F1 is wanted beside (paraphrase: the one that says yes)

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return replace(classifier, classes=len(self.labels), dropout=dropout)

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        return choose(self.labels, softmax(table))

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        gold = [example.answer for example in examples]
        labels = (*self.labels, *sorted(set(gold) - set(self.labels)))
        return label_scores(gold, [one["label"] for one in predictions], labels, positive=self.positive)

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        gold, given = [example.answer for example in examples], [one["label"] for one in predictions]
        return label_rows(gold, given, self.labels, positive=self.positive)

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        return example.answer, {model: one["label"] for model, one in given.items()}


TASK = Classification(kind="classification", title="classification of texts or text pairs", metric="accuracy")
