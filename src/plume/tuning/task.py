"""Task: what a model is tuned for. One record reads the files, lays texts out, names the head, decides, and is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.heads.head import Head, HeadModule
from plume.heads.sentence_classification import SentenceClassification
from plume.readers.example import Example, Reading
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.rows.rows import Coder

if TYPE_CHECKING:
    from plume.tuning.loaded import Loaded  # which are made for tasks

Prediction = dict[str, Any]  # as it is written to a JSON line


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What a user says of a file's columns, where plume shall not find out."""

    texts: tuple[str, ...] = ()
    answer: str | None = None


@dataclass(frozen=True, kw_only=True)
class Task(Part):
    """A declaration before training; with `labels` and what else was found in the training file after it. Saved as task.json."""

    kind: str  # the file it is declared in
    title: str
    metric: str  # by which the best model is chosen
    name: str = ""  # among several on one body; empty: the kind
    labels: tuple[str, ...] = ()

    reads: ClassVar[str] = ""  # the formats of its files, in words

    @property
    def called(self) -> str:
        return self.name or self.kind

    # Reader

    def fitted(self, paths: Sequence[Path], columns: Columns) -> Self:
        """With the layout of the training file, so that every later file is read alike."""
        return self

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        raise NotImplementedError

    def learned(self, examples: Sequence[Example]) -> Self:
        """With the labels that the training examples have."""
        return self

    def check(self, examples: Sequence[Example], file: Path) -> None:
        """Raise for answers that training cannot have taught."""

    def example(self, item: Any) -> Example:
        """What a caller in Python hands over: a text, a pair of texts, or what the task says."""
        listed = isinstance(item, Iterable) and not isinstance(item, str | Mapping)
        texts = tuple(item) if listed else (item,)
        if not texts or not all(isinstance(text, str) for text in texts):
            raise PlumeError(f"{self.called}: a text or a pair of texts is expected, not {str(item)[:60]!r}.")
        return Example(texts=texts)

    # Layout

    def questions(self, examples: Sequence[Example], coder: Coder) -> tuple[Questions, Counter[str]]:
        """What is asked; and what was lost on the way, counted in words: texts that had to be cut …"""
        raise NotImplementedError

    # Head

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        """`classifier` is the family's way to label a text."""
        raise NotImplementedError

    def begin(self, head: HeadModule) -> None:
        """Where a fresh head starts, if the training answers say something about it."""

    # Answers

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        """What the head's scores decide, one for each example."""
        raise NotImplementedError

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        raise NotImplementedError

    def balance(self, examples: Sequence[Example]) -> str | None:
        """A sentence about very unequal classes, if they are."""
        return None


@dataclass(frozen=True, kw_only=True)
class DirectTask(Part):
    """What a trained model answers without being tuned for it: by what it was pre-trained to do, or by another task's head."""

    kind: str
    title: str
    metric: str

    reads: ClassVar[str] = "plain lines"

    def predict(self, model: Loaded, items: Sequence[Any], **options: Any) -> list[Prediction]:
        """`model` is what `plume.load` returns."""
        raise NotImplementedError

    def evaluate(self, model: Loaded, paths: Sequence[Path], **options: Any) -> dict[str, float]:
        """Scores on labelled files."""
        raise NotImplementedError
