"""Tasks that say something about a whole text or a pair: the layout they share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.readers.example import Example, Reading
from plume.readers.table_choice import AnswerKind
from plume.readers.table_layout import TableLayout, find_layout
from plume.readers.tables import read_table
from plume.tuning.rows.questions import Questions, TokenQuestions, one_each
from plume.tuning.rows.rows import Coder, TextRows, shortened, shortened_pair
from plume.tuning.task import Columns, Prediction, Task

if TYPE_CHECKING:
    from plume.tuning.writing.worded import ByText

_UNEQUAL = 10.0  # times as frequent as the rarest class: then accuracy says little


@dataclass(frozen=True, kw_only=True)
class TextTask(Task):
    """Texts or pairs of them in a table, with an answer each."""

    answer: ClassVar[AnswerKind] = AnswerKind.LABEL
    reads: ClassVar[str] = "TSV, CSV, JSONL; aligned files"

    texts: int | None = None  # a row; None: as the training file has it
    layout: TableLayout | None = None
    unseen: bool = False  # labels that training has not shown may occur in dev and test files, and are never right

    def fitted(self, paths: Sequence[Path], columns: Columns) -> Self:
        found = find_layout(paths, texts=self.texts, answer=self.answer, text_columns=columns.texts, answer_column=columns.answer)
        return replace(self, layout=found, texts=len(found.texts))

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        # A head that was imported has seen no training file of ours: then each file is looked at for itself.
        layout = self.layout or find_layout(paths, texts=self.texts, answer=self.answer if labelled else None)
        return read_table(paths, layout, reading, answer=self.answer, labelled=labelled)

    def example(self, item: Any) -> Example:
        example = super().example(item)
        if self.texts is not None and len(example.texts) != self.texts:
            wanted = "a pair of texts" if self.texts == 2 else "one text"
            raise PlumeError(f"{self.called} reads {wanted}, and was given {len(example.texts)}: '{' / '.join(example.texts)[:60]}'.")
        return example

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[Questions, Counter[str]]:
        rows, cut = lay_out_texts(examples, coder)
        known = all(example.answer is not None for example in examples)
        return (
            TokenQuestions(
                name=self.called,
                rows=rows,
                groups=one_each(len(rows)),
                column=coder.summary(rows),
                asked=one_each(len(rows)),
                value=self.values(examples) if known else None,
            ),
            cut,
        )

    def values(self, examples: Sequence[Example]) -> NDArray:
        """[N] or [N, classes] as the head's loss wants them."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class LabelTask(TextTask):
    """One label of several."""

    def learned(self, examples: Sequence[Example]) -> Self:
        labels = tuple(sorted({example.answer for example in examples}, key=_natural))
        if len(labels) < 2:
            raise PlumeError(f"{self.called}: all {len(examples):,} examples have the label '{labels[0]}': there is nothing to tell apart.")
        return replace(self, labels=labels)

    def check(self, examples: Sequence[Example], file: Path) -> None:
        if not self.unseen:
            require_known(self.labels, ((example.answer, example) for example in examples), file)

    def values(self, examples: Sequence[Example]) -> NDArray:
        number = {label: place for place, label in enumerate(self.labels)}
        return np.array([number.get(example.answer, 0) for example in examples], np.int64)

    def in_words(self, examples: Sequence[Example]) -> ByText | None:
        from plume.tuning.writing.worded import LabelByText  # which wraps a task of this kind

        return LabelByText.of(self)

    def balance(self, examples: Sequence[Example]) -> str | None:
        counts = Counter(example.answer for example in examples)
        (most, many), (least, few) = counts.most_common()[0], counts.most_common()[-1]
        if many < _UNEQUAL * few:
            return None
        return (
            f"{self.called}: the classes are very unequal ('{most}' {many:,} times, '{least}' {few:,}): look at macro_f1 rather than accuracy; "
            "--metric macro_f1 also chooses the best model by it."
        )


def require_known(labels: Sequence[str], found: Iterable[tuple[str, Example]], file: Path) -> None:
    """Nobody can predict a label that training has not shown."""
    known = set(labels)
    for label, example in found:
        if label not in known:
            raise PlumeError(
                f"{file}, line {example.line}: the label '{label}' does not occur in the training file "
                f"(it has {', '.join(labels[:12])}{' …' if len(labels) > 12 else ''}). Is the label in another column? If it is only rare, "
                "count such examples as wrong: plume tune --task-set unseen=true"
            )


def lay_out_texts(examples: Sequence[Example], coder: Coder) -> tuple[TextRows, Counter[str]]:
    """A row each, of one text or two, cut where they are too long; and how many were."""
    counts = sorted({len(example.texts) for example in examples})
    if counts not in ([1], [2]):
        raise PlumeError(f"One text each is read, or a pair each, not {' and '.join(map(str, counts))} texts.")
    count = counts[0]
    room = coder.room(count)
    stretches = coder.texts(examples)
    sizes = np.stack([stretch.end - stretch.begin for stretch in stretches]).sum(0)
    kept = [shortened(stretches[0], room)] if count == 1 else shortened_pair(stretches[0], stretches[1], room)
    cut = sizes > room
    return replace(coder.lay_out(*kept), cut=cut), Counter({f"texts cut to {coder.length} tokens": int(cut.sum())})


def choose(labels: Sequence[str], probability: NDArray) -> list[Prediction]:
    """The likeliest label of each line, and how likely all are."""
    best = probability.argmax(1)
    rounded = np.round(probability.astype(np.float64), 6).tolist()
    return [
        {"label": labels[place], "score": scores[place], "scores": dict(zip(labels, scores, strict=True))}
        for place, scores in zip(best.tolist(), rounded, strict=True)
    ]


def softmax(scores: NDArray) -> NDArray:
    """Shares of each line, in numpy."""
    shifted = np.exp(scores - scores.max(1, keepdims=True))
    return shifted / shifted.sum(1, keepdims=True)


def _natural(label: str) -> tuple[int, float, str]:
    """Numbers in their order, before words."""
    return (0, float(label), label) if re.fullmatch("-?[0-9]+", label) else (1, 0.0, label)
