"""Multi-label classification: as many labels of a text as apply, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.head import Head
from plume.heads.sentence_classification import MultiLabelClassification, SentenceClassification
from plume.metrics.resampled.labels import multi_label_rows
from plume.metrics.resampled.measures import Measures
from plume.metrics.scores import multi_label_scores
from plume.readers.example import Example
from plume.readers.table_choice import AnswerKind
from plume.tuning.kinds.labelling import TextTask, require_known
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.task import Prediction, Readable, listed


@dataclass(frozen=True, kw_only=True)
class MultiLabel(TextTask):
    """Each label is decided for itself."""

    answer: ClassVar[AnswerKind] = AnswerKind.LABELS
    right_by: ClassVar[str | None] = "exact"

    threshold: float = 0.5  # a label applies from this probability on

    def learned(self, examples: Sequence[Example]) -> Self:
        labels = tuple(sorted({label for example in examples for label in example.answer}))
        if not labels:
            raise PlumeError(f"{self.called}: none of the {len(examples):,} training examples has a label.")
        return replace(self, labels=labels)

    def check(self, examples: Sequence[Example], file: Path) -> None:
        if not self.unseen:
            require_known(self.labels, ((label, example) for example in examples for label in example.answer), file)

    def values(self, examples: Sequence[Example]) -> NDArray:
        number = {label: place for place, label in enumerate(self.labels)}
        table = np.zeros((len(examples), len(self.labels)), np.int64)
        for row, example in enumerate(examples):
            table[row, [number[label] for label in example.answer if label in number]] = 1
        return table

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return MultiLabelClassification(classes=len(self.labels), dropout=dropout, hidden=classifier.hidden, bias=classifier.bias)

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        probability = np.round(1 / (1 + np.exp(-table.astype(np.float64))), 6)
        return [
            {
                "labels": [label for label, share in zip(self.labels, shares, strict=True) if share >= self.threshold],
                "scores": dict(zip(self.labels, shares, strict=True)),
            }
            for shares in probability.tolist()
        ]

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        gold = [example.answer for example in examples]
        labels = (*self.labels, *sorted({label for labels in gold for label in labels} - set(self.labels)))
        return multi_label_scores(gold, [one["labels"] for one in predictions], labels)

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        return multi_label_rows([example.answer for example in examples], [one["labels"] for one in predictions], self.labels)

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        return listed(sorted(example.answer)), {model: listed(sorted(one["labels"])) for model, one in given.items()}


TASK = MultiLabel(kind="multi-label", title="multi-label classification", metric="micro_f1")
