"""Text classification: one label for a text, or for a pair of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plume.core.part import replace
from plume.heads.head import Head
from plume.heads.sentence_classification import SentenceClassification
from plume.metrics.scores import label_scores
from plume.readers.example import Example
from plume.tuning.kinds.labelling import LabelTask, choose, softmax
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.task import Prediction


@dataclass(frozen=True, kw_only=True)
class Classification(LabelTask):
    """
    >>> TASK.metric
    'accuracy'
    """

    positive: str | None = None  # the class whose F1 is wanted beside (paraphrase: the one that says yes)

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return replace(classifier, classes=len(self.labels), dropout=dropout)

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        return choose(self.labels, softmax(table))

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        gold = [example.answer for example in examples]
        labels = (*self.labels, *sorted(set(gold) - set(self.labels)))
        return label_scores(gold, [one["label"] for one in predictions], labels, positive=self.positive)


TASK = Classification(kind="classification", title="classification of texts or text pairs", metric="accuracy")
