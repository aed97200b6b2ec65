"""Multiple choice: which of several texts goes with a context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from plume.core.errors import PlumeError
from plume.heads.head import Head
from plume.heads.sentence_classification import Choice, SentenceClassification
from plume.metrics.resampled.measures import Measures, mean_of
from plume.readers.choices import read_choices
from plume.readers.example import Example, Reading
from plume.text.pieces import bounds
from plume.tuning.kinds.labelling import lay_out_texts, softmax
from plume.tuning.rows.questions import ChoiceQuestions, Floats, Questions
from plume.tuning.rows.rows import Coder
from plume.tuning.task import Prediction, Readable, Task


@dataclass(frozen=True, kw_only=True)
class MultipleChoice(Task):
    """Each choice is read with the context; one score each (GPT §3.3)."""

    reads: ClassVar[str] = "JSONL: context, choices, answer"
    right_by: ClassVar[str | None] = "accuracy"

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        return read_choices(paths[0], reading, labelled=labelled)

    def example(self, item: Any) -> Example:
        context, choices = (item.get("context"), item.get("choices")) if isinstance(item, dict) else (None, None)
        if not isinstance(choices, list | tuple) or len(choices) < 2 or not all(isinstance(text, str) for text in (context, *choices)):
            raise PlumeError(f'{self.called} reads {{"context": "…", "choices": ["…", "…"]}}, not {str(item)[:60]!r}.')
        return Example(texts=(str(context), *choices))

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[Questions, Counter[str]]:
        pairs = [replace(example, texts=(example.texts[0], choice)) for example in examples for choice in example.texts[1:]]
        rows, notes = lay_out_texts(pairs, coder)
        known = all(example.answer is not None for example in examples)
        return (
            ChoiceQuestions(
                name=self.called,
                rows=rows,
                groups=bounds(len(example.texts) - 1 for example in examples),
                column=coder.summary(rows),
                value=np.array([example.answer for example in examples], np.int64) if known else None,
            ),
            notes,
        )

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return Choice(dropout=dropout, hidden=classifier.hidden, bias=classifier.bias)

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        found = []
        for example, (first, last) in zip(examples, pairwise(questions.groups.tolist()), strict=True):
            shares = softmax(table[first:last, 0][None].astype(np.float64))[0]
            best = int(shares.argmax())
            scores = [round(share, 6) for share in shares.tolist()]
            found.append({"answer": best, "choice": example.texts[1 + best], "score": scores[best], "scores": scores})
        return found

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        return {"accuracy": float(np.mean(_right(examples, predictions)))}

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        return {"accuracy": lambda: mean_of(_right(examples, predictions))}

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        return example.texts[1 + example.answer], {model: example.texts[1 + one["answer"]] for model, one in given.items()}


def _right(examples: Sequence[Example], predictions: Sequence[Prediction]) -> list[bool]:
    return [example.answer == one["answer"] for example, one in zip(examples, predictions, strict=True)]


TASK = MultipleChoice(kind="multiple-choice", title="multiple choice", metric="accuracy")
