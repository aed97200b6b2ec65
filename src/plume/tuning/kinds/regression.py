"""A number for a text or a pair: similarity and regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from plume.core.part import replace
from plume.heads.head import Head, HeadModule
from plume.heads.sentence_classification import SentenceClassification, SentenceRegression, SentenceRegressionModule
from plume.metrics.resampled.measures import Measures
from plume.metrics.resampled.texts import number_rows
from plume.metrics.scores import number_scores
from plume.readers.example import Example
from plume.readers.table_choice import AnswerKind
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.body import Body
from plume.tuning.kinds.labelling import TextTask
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.task import Prediction, Readable, Task

if TYPE_CHECKING:
    from plume.tuning.writing.worded import ByText


@dataclass(frozen=True, kw_only=True)
class Regression(TextTask):
    """A number, learned by its squared error."""

    answer: ClassVar[AnswerKind] = AnswerKind.SCORE

    mean: float = 0.0  # of the training scores: where the head begins
    centred: bool = False  # the head has no bias to hold the mean (GPT-2): it says how far above it a text is

    def learned(self, examples: Sequence[Example]) -> Self:
        return replace(self, mean=float(np.mean([example.answer for example in examples])))

    def suited(self, body: Body, tokenizer: Tokenizer, examples: Sequence[Example]) -> Task:
        """A family whose classifier has no bias learns numbers from their mean."""
        bare = not body.classifier.bias
        return replace(self, centred=True) if bare else self

    def in_words(self, examples: Sequence[Example]) -> ByText | None:
        from plume.tuning.writing.worded import NumberByText, step_of  # which wraps a task of this kind

        return NumberByText.of(self, step=step_of([example.answer for example in examples]))

    def begin(self, head: HeadModule) -> None:
        if isinstance(head, SentenceRegressionModule) and head.output.bias is not None:
            with torch.no_grad():
                head.output.bias.fill_(self.mean)

    @property
    def origin(self) -> float:
        """What the head's 0 stands for."""
        return self.mean if self.centred else 0.0

    def values(self, examples: Sequence[Example]) -> NDArray:
        return np.array([example.answer - self.origin for example in examples], np.float32)

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return SentenceRegression(dropout=dropout, hidden=classifier.hidden, bias=classifier.bias)

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        return [{"score": round(value + self.origin, 6)} for value in table[:, 0].astype(float).tolist()]

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        return number_scores([example.answer for example in examples], [one["score"] for one in predictions])

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        return number_rows([example.answer for example in examples], [one["score"] for one in predictions])

    @property
    def graded(self) -> bool:
        return True

    def grades(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> NDArray[np.float64]:
        return -np.abs([one["score"] - example.answer for example, one in zip(examples, predictions, strict=True)])

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        return f"{example.answer:.2f}", {model: f"{one['score']:.2f}" for model, one in given.items()}
