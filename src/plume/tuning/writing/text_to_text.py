"""Text to text: summaries, translations, and whatever else is a text for a text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.metrics.resampled.measures import Measures
from plume.metrics.resampled.texts import text_rows
from plume.metrics.scores import text_scores
from plume.model.networks.model import Model
from plume.readers.example import Example, Reading
from plume.readers.text_pairs import read_text_pairs
from plume.tuning.rows.rows import Coder
from plume.tuning.task import NOTHING, Columns, Prediction, Readable, Responses
from plume.tuning.writing.written import TextQuestions, WrittenTask


@dataclass(frozen=True, kw_only=True)
class FreeText(WrittenTask):
    """Any text is an answer, written by the model's own head for tokens, and held against the right one."""

    right_by: ClassVar[str | None] = "rougeL"

    beams: int = 1  # 1: the likeliest token each time
    fields: tuple[str, str] | None = None  # of source and target, where the user named them

    def __post_init__(self) -> None:
        if self.beams < 1 or (self.longest is not None and self.longest < 1):
            raise PlumeError("beams is 1 or more, and longest 1 token or more.")

    def fitted(self, paths: Sequence[Path], columns: Columns) -> Self:
        if not columns.texts and columns.answer is None:
            return self
        if len(columns.texts) != 1 or columns.answer is None:
            raise PlumeError(f"{self.called} reads one text and writes one: name both fields, --text SOURCE --label TARGET.")
        return replace(self, fields=(columns.texts[0], columns.answer))

    def target(self, example: Example) -> str:
        return str(example.answer)

    def written(self, body: Model, coder: Coder, questions: TextQuestions, examples: Sequence[Example]) -> Responses:
        written = self.write(body, questions, room=self.most(coder), beams=self.beams)
        texts = [coder.tokenizer.decode(one.tokens).strip() for one in written]
        return [{"text": text, "score": round(math.exp(one.score), 6)} for text, one in zip(texts, written, strict=True)], Counter()

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        return text_scores([example.answer for example in examples], [one["text"] for one in predictions])

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        return text_rows([example.answer for example in examples], [one["text"] for one in predictions])

    @property
    def graded(self) -> bool:
        return True

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        gold = example.answer if isinstance(example.answer, str) else " / ".join(example.answer)
        return gold, {model: one["text"] or NOTHING for model, one in given.items()}


@dataclass(frozen=True, kw_only=True)
class TextToText(FreeText):
    """A text for a text."""

    reads: ClassVar[str] = "JSONL; two aligned files"

    prefix: str = ""  # before every text that is read ("summarize: "), as a T5 that learned several tasks wants it (arXiv:1910.10683 §2.4)

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        return read_text_pairs(paths, reading, labelled=labelled, fields=self.fields)

    def example(self, item: Any) -> Example:
        example = super().example(item)
        if len(example.texts) != 1:
            raise PlumeError(f"{self.called} reads one text, and was given {len(example.texts)}: {str(item)[:60]!r}.")
        return example

    def source(self, example: Example) -> str:
        return self.prefix + example.texts[0]
