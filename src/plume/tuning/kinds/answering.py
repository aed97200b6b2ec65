"""Extractive question answering: where in a text the answer to a question stands, or that it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.answer_span import AnswerSpan
from plume.heads.head import Head
from plume.heads.sentence_classification import SentenceClassification
from plume.metrics.resampled.measures import Measures
from plume.metrics.resampled.texts import answer_rows
from plume.metrics.squad import answer_scores
from plume.readers.example import Example, Reading
from plume.readers.squad import read_squad
from plume.text.pieces import Joined
from plume.tuning.rows.questions import Floats, Questions, SpanQuestions, one_each
from plume.tuning.rows.rows import Array, Coder, shortened
from plume.tuning.rows.windows import Answered, best_answers, drawn_windows, windows
from plume.tuning.task import NOTHING, Prediction, Readable, Task

if TYPE_CHECKING:
    from plume.tuning.writing.worded import ByText


@dataclass(frozen=True, kw_only=True)
class ContextQuestions(SpanQuestions):
    """Windows of contexts, each behind its question."""

    window_example: Array  # [R]
    null: Array  # [R] the column that says: not here
    context: Joined

    def drawn(self, generator: np.random.Generator) -> Array:
        """Every window that holds an answer, and some of those that do not."""
        if self.value is None:
            return super().drawn(generator)
        return drawn_windows(self.window_example, self.value[:, 0] != self.null, generator)


@dataclass(frozen=True, kw_only=True)
class QuestionAnswering(Task):
    """A long context is read in windows that overlap (BERT's run_squad); what is learned from is drawn among them."""

    reads: ClassVar[str] = "SQuAD, CMRC and DRCD JSON; JSONL"
    right_by: ClassVar[str | None] = "exact_match"

    longest_question: int = 64  # tokens
    longest_answer: int = 30
    overlap: float = 0.35  # of a window with the next
    unanswerable: bool = False  # were there such questions in training? Else every question gets an answer
    threshold: float = 0.0  # by how much "no answer" must be above the best span to be said (BERT §4.3)

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        return read_squad(paths[0], reading, labelled=labelled)

    def learned(self, examples: Sequence[Example]) -> Self:
        return replace(self, unanswerable=any(not example.answer for example in examples))

    def example(self, item: Any) -> Example:
        if isinstance(item, dict) and {"question", "context"} <= item.keys():
            item = (item["question"], item["context"])
        if not isinstance(item, list | tuple) or len(item) != 2 or not all(isinstance(text, str) for text in item):
            raise PlumeError(f'{self.called} reads {{"question": "…", "context": "…"}} or a pair of both, not {str(item)[:60]!r}.')
        return super().example(item)

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[Questions, Counter[str]]:
        notes: Counter[str] = Counter()
        asked, told = coder.texts(examples)
        longest = min(self.longest_question, coder.room(2) // 2)
        notes[f"questions cut to {longest} tokens"] = int((asked.end - asked.begin > longest).sum())
        asked = shortened(asked, longest)
        context = told.cut
        owner, begin, end = self.split(context, coder.room(2) - (asked.end - asked.begin))
        rows = coder.lay_out(asked.of(owner), told.of(owner, begin, end))
        null = coder.summary(rows)
        allowed = rows.text == 1
        allowed[rows.bounds[:-1] + null] = True
        behind = len(coder.pair) - 1 - coder.pair.index("B")  # special tokens after the context
        first = rows.length - behind - (end - begin)  # the context's first column
        known = all(example.answer is not None for example in examples)
        value = self._values(examples, context, owner, begin, end, first, null) if known else None
        made = ContextQuestions(
            name=self.called,
            rows=rows,
            groups=one_each(len(rows)),
            allowed=allowed,
            value=value,
            window_example=owner,
            null=null,
            context=context,
        )
        return made, notes

    def split(self, context: Joined, room: Array) -> tuple[Array, Array, Array]:
        """Of each window: its example, and its first and last token."""
        owner: list[int] = []
        bounds: list[tuple[int, int]] = []
        sizes = np.diff(context.token_bounds).tolist()
        for number, (base, size, space) in enumerate(zip(context.token_bounds.tolist(), sizes, room.tolist(), strict=False)):
            found = windows(size, room=space, stride=int(space * self.overlap))
            owner += [number] * len(found)
            bounds += [(base + begin, base + end) for begin, end in found]
        flat = np.array(bounds, np.int64).reshape(-1, 2)
        return np.array(owner), flat[:, 0], flat[:, 1]

    def _values(
        self, examples: Sequence[Example], context: Joined, owner: Array, begin: Array, end: Array, first: Array, null: Array
    ) -> NDArray:
        """[R, 2] columns of the answer's first and last token; of the one that says so, where the window does not hold it."""
        placed = [next((answer for answer in example.answer if answer.start >= 0), None) for example in examples]
        base = context.character_bounds[:-1]
        start = np.array([-1 if answer is None else answer.start for answer in placed]) + base
        after = np.array([-1 if answer is None else answer.start + len(answer.text) for answer in placed]) + base
        one = np.searchsorted(np.maximum.accumulate(context.end), start, side="right")[owner]  # the first token that ends after it starts
        last = np.searchsorted(context.start, after, side="left")[owner] - 1
        there = np.array([answer is not None for answer in placed])[owner] & (one >= begin) & (last < end) & (one <= last)
        columns = np.stack([one - begin + first, last - begin + first], axis=1)
        return np.where(there[:, None], columns, null[:, None])

    def in_words(self, examples: Sequence[Example]) -> ByText | None:
        from plume.tuning.writing.worded_answers import AnswerByText  # which wraps a task of this kind

        return AnswerByText.of(self)

    def for_long_texts(self, way: str) -> QuestionAnswering:
        """Windows are what it does by itself."""
        if way == "recall":
            from plume.tuning.long_texts.answering import RecalledAnswering  # which is a task of this kind

            return RecalledAnswering.of(self)
        return self

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        return AnswerSpan(dropout=dropout)

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        assert isinstance(questions, ContextQuestions)
        rows, context = questions.rows, questions.context
        every = np.arange(len(rows))
        place = rows.padded(np.where(rows.text == 1, rows.place, -1), every, -1)
        scores: list[Any] = [rows.padded(np.ascontiguousarray(table[:, side]), every, 0) for side in (0, 1)]
        base = context.character_bounds[questions.window_example][:, None]
        found = best_answers(
            start=scores[0],
            end=scores[1],
            allowed=place >= 0,
            window_example=questions.window_example,
            null=questions.null,
            character_start=context.start[np.maximum(place, 0)] - base if len(context.start) else np.zeros_like(place),
            character_end=context.end[np.maximum(place, 0)] - base if len(context.end) else np.zeros_like(place),
            longest=self.longest_answer,
            threshold=self.threshold if self.unanswerable else np.inf,
        )
        return [stated(example.texts[1], one) for example, one in zip(examples, found, strict=True)]

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        return answer_scores(_gold(examples), [one["answer"] for one in predictions])

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        return answer_rows(_gold(examples), [one["answer"] for one in predictions])

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        gold = " / ".join(dict.fromkeys(answer.text for answer in example.answer))
        return gold or NOTHING, {model: one["answer"] or NOTHING for model, one in given.items()}


def _gold(examples: Sequence[Example]) -> list[list[str]]:
    return [[answer.text for answer in example.answer] for example in examples]


def stated(context: str, found: Answered) -> Prediction:
    """As a prediction. White space at the edges, which some tokenizers keep with a word (U+3000), is no part of the answer."""
    text = context[found.start : found.end]
    start, answer = found.start + len(text) - len(text.lstrip()), text.strip()
    return {"answer": answer, "start": start, "end": start + len(answer), "score": round(found.score, 6)}
