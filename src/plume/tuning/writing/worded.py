"""Tasks answered in words, as T5 answers them (arXiv:1910.10683 §2.4, appendix D): a label, a number or an answer is written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plume.core.part import replace
from plume.model.networks.model import Model
from plume.readers.example import Example
from plume.text.tokenizer import Tokenizer
from plume.tuning.kinds.regression import Regression
from plume.tuning.rows.rows import Array, Coder, Stretch, shortened_pair, whole
from plume.tuning.task import Responses
from plume.tuning.wrapped import WrappedTask
from plume.tuning.writing.label_scores import label_table
from plume.tuning.writing.written import TextQuestions, WrittenTask

_STEPS = 25  # between the smallest and the largest number: of STS-B's 0 to 5, T5's steps of 0.2


@dataclass(frozen=True, kw_only=True)
class ByText(WrappedTask, WrittenTask):
    """`task` reads, checks and measures; its answers are written."""

    def trouble(self, examples: Sequence[Example], tokenizer: Tokenizer) -> str | None:
        """Why this tokenizer cannot write the answers."""
        return None

    def source(self, example: Example) -> str:
        """T5's: "sst2 sentence: …", "mrpc sentence1: … sentence2: …"; here with the task's own name."""
        if len(example.texts) == 1:
            return f"{self.called} sentence: {example.texts[0]}"
        return " ".join([self.called, *(f"sentence{number}: {text}" for number, text in enumerate(example.texts, 1))])

    def fitting(self, examples: Sequence[Example], room: int, coder: Coder) -> tuple[Sequence[Example], NDArray[np.bool_]]:
        """The longer text of a pair is cut first, as for a head: at the end of the joined text only the second would be."""
        if any(len(example.texts) != 2 for example in examples):
            return super().fitting(examples, room, coder)
        left = max(room - self.around(coder), 2)
        first, second = (whole(coder.cut([example.texts[side] for example in examples])) for side in (0, 1))
        cut = (first.end - first.begin) + (second.end - second.begin) > left
        kept = [characters(stretch)[1].tolist() for stretch in shortened_pair(first, second, left)]
        shorter = [replace(one, texts=(one.texts[0][:a], one.texts[1][:b])) for one, a, b in zip(examples, *kept, strict=True)]
        return [short if long else one for one, short, long in zip(examples, shorter, cut.tolist(), strict=True)], cut

    def around(self, coder: Coder) -> int:
        """Tokens of the words that stand around a pair's texts."""
        return len(coder.tokenizer.encode([self.source(Example(texts=("", "")))])[0])

    def texts(self, body: Model, coder: Coder, questions: TextQuestions) -> list[tuple[str, float]]:
        """What is written for each, and how likely its tokens were in the mean."""
        written = self.write(body, questions, room=self.most(coder))
        return [(coder.tokenizer.decode(one.tokens).strip(), round(math.exp(one.score), 6)) for one in written]


@dataclass(frozen=True, kw_only=True)
class LabelByText(ByText):
    """The labels' texts are held against each other, so that nothing else can be answered; T5 counts other texts as wrong."""

    def trouble(self, examples: Sequence[Example], tokenizer: Tokenizer) -> str | None:
        coded = [tuple(ids) for ids in tokenizer.encode(list(self.labels))]
        alike = [label for label, ids in zip(self.labels, coded, strict=True) if not ids or coded.count(ids) > 1]
        return f"the tokenizer cannot tell its labels apart ({', '.join(alike[:3])})" if alike else None

    def target(self, example: Example) -> str:
        return str(example.answer)

    def written(self, body: Model, coder: Coder, questions: TextQuestions, examples: Sequence[Example]) -> Responses:
        return self.task.answers(label_table(body, coder, questions, self.labels), questions, examples), Counter()


@dataclass(frozen=True, kw_only=True)
class NumberByText(ByText):
    """A number is written in steps, as T5 writes STS-B's scores."""

    step: float  # numbers are rounded to its multiples before they are written

    @property
    def _decimals(self) -> int:
        return max(0, -math.floor(math.log10(self.step)))

    def target(self, example: Example) -> str:
        return f"{round(example.answer / self.step) * self.step:.{self._decimals}f}"

    def trouble(self, examples: Sequence[Example], tokenizer: Tokenizer) -> str | None:
        texts = sorted({self.target(example) for example in examples})
        lost = [text for text, ids in zip(texts, tokenizer.encode(texts), strict=True) if tokenizer.decode(ids).strip() != text]
        return f"the tokenizer cannot write its numbers ({', '.join(lost[:3])})" if lost else None

    def written(self, body: Model, coder: Coder, questions: TextQuestions, examples: Sequence[Example]) -> Responses:
        assert isinstance(self.task, Regression)
        numbers = [_number(text) for text, _ in self.texts(body, coder, questions)]
        table: NDArray[np.float32] = np.array([[self.task.mean if number is None else number] for number in numbers], np.float32)
        return self.task.answers(table, questions, examples), Counter(
            {"answers that are no number, taken as the mean": numbers.count(None)}
        )


def characters(stretch: Stretch, text: Array | None = None) -> tuple[Array, Array]:
    """Where each stretch begins and ends in its text, in characters; `text` says of which it is, if not one of each."""
    base = stretch.cut.character_bounds[:-1] if text is None else stretch.cut.character_bounds[text]
    if not len(stretch.cut.start):
        return np.zeros_like(base), np.zeros_like(base)
    some = stretch.end > stretch.begin
    first, last = np.minimum(stretch.begin, len(stretch.cut.start) - 1), np.maximum(stretch.end - 1, 0)
    return np.where(some, stretch.cut.start[first] - base, 0), np.where(some, stretch.cut.end[last] - base, 0)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def step_of(numbers: Sequence[float]) -> float:
    """1, 2 or 5 times a power of ten, of which the numbers' range has some 25.

    >>> step_of([0.0, 3.8, 5.0]), step_of([1, 100])
    (0.2, 5.0)
    """
    wanted = (max(numbers) - min(numbers) or 1.0) / _STEPS
    power = 10.0 ** math.floor(math.log10(wanted))
    return float(f"{min((1, 2, 5, 10), key=lambda step: abs(math.log(step * power / wanted))) * power:.6g}")
