"""Task: what a model is tuned for. One record reads the files, lays texts out, names the head, decides, and is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.heads.head import Head, HeadModule
from plume.heads.sentence_classification import SentenceClassification
from plume.metrics.resampled.measures import Measures, Remeasured, RowScores, Summed
from plume.metrics.scores import ERRORS
from plume.model.use.language_model import LanguageModel
from plume.readers.example import Example, Reading
from plume.text.tokenizer import Tokenizer
from plume.tuning.adapting.body import Body
from plume.tuning.asked import AskedOf, Reply
from plume.tuning.rows.questions import Floats, Questions
from plume.tuning.rows.rows import Coder

if TYPE_CHECKING:
    from plume.tuning.loaded import Loaded  # which are made for tasks
    from plume.tuning.writing.worded import ByText

Prediction = dict[str, Any]  # as it is written to a JSON line
Responses = tuple[list[Prediction], Counter[str]]  # one for each example; and what was lost on the way, counted in words
Readable = tuple[str, dict[str, str]]  # the right answer, and each model's
NOTHING = "–"  # no entity, no label, no answer


class Answering(Protocol):
    """What a task is handed to answer with: a tuned model."""

    @property
    def body(self) -> LanguageModel:
        """The model below, to embed, fill, generate and score with; word vectors have none, and say so."""

    def coder(self) -> Coder:
        """Which cuts texts and lays them out as the model reads them."""

    def table(self, questions: Questions) -> Floats:
        """What the head of that name says, a line for each thing asked: the task's own head, or that of another task on the same body."""

    def once(self, name: str, make: Callable[[], NDArray]) -> NDArray:
        """An array that a run computes with the weights of one moment; one that goes on from a checkpoint behind it is given the same."""


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
        """Its name among the tasks of a model, and that of its head."""
        return self.name or self.kind

    # Reader

    def fitted(self, paths: Sequence[Path], columns: Columns) -> Self:
        """With the layout of the training file, so that every later file is read alike."""
        return self

    def read(self, paths: Sequence[Path], reading: Reading, *, labelled: bool) -> Iterator[Example]:
        """The examples of a file, or of aligned ones; `reading` accounts for what is left out."""
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

    def renewed(self, model: Answering, examples: Sequence[Example], epoch: int) -> Questions | None:
        """What is asked in a later epoch, where that changes with what the model has learned; None: the same as in the first.

        Batches are prepared ahead, so the model is asked some steps before the epoch begins. What it says then is to be computed by
        `Answering.once`: a run that goes on from the middle of an epoch has other weights.
        """
        return None

    # Network

    def for_long_texts(self, way: str) -> Task:
        """The task as it reads texts that do not fit into a row: in `windows`, or by `recall`."""
        raise PlumeError(f"{self.called} does not choose how it reads long texts: --long is for qa.")

    def suited(self, body: Body, tokenizer: Tokenizer, examples: Sequence[Example]) -> Task:
        """The task as this model answers it; `examples` are those of training."""
        return self

    def anew(self) -> Task:
        """With what its network settled open again: for another one."""
        return self

    def over_tokens(self, body: Body, tokenizer: Tokenizer) -> Task:
        """The same over a network that was its own, whose tokens have other ids now."""
        return self

    def settled(self, *, together: bool) -> Self:
        """With what the user left open. `together`: does this model do better where the labels of a sentence are chosen together?"""
        return self

    def in_words(self, examples: Sequence[Example]) -> ByText | None:
        """The same task with its answers written, for models that can do both; None: they are no text."""
        return None

    @property
    def objective(self) -> str | None:
        """Which of the body's own objectives answers it, by the head that it was pre-trained with; None: a head of the task's own."""
        return None

    def over(self, head: HeadModule) -> HeadModule:
        """What reads the answer off that head, where `objective` names one; here it itself."""
        return head

    def head(self, classifier: SentenceClassification, *, dropout: float) -> Head:
        """Where `objective` is None. `classifier` is the family's way to label a text."""
        raise NotImplementedError

    def begin(self, head: HeadModule) -> None:
        """Where a fresh head starts, if the training answers say something about it."""

    # Answers

    def respond(self, model: Answering, examples: Sequence[Example]) -> Responses:
        """An answer for each example. Here the model is asked once; a task may ask again, about what it was answered."""
        questions, notes = self.questions(examples, model.coder())
        return mark_cut(self.answers(model.table(questions), questions, examples), questions), notes

    def ask(self, model: Answering, questions: Sequence[str], given: AskedOf) -> list[Reply]:
        """A reply to each question, with the steps that led to it: for tasks that look the answer up somewhere (`plume ask`)."""
        raise PlumeError(
            f"{self.called} answers nothing by looking it up: use plume predict. What can be asked is tuned for, for example, kbqa."
        )

    def answers(self, table: Floats, questions: Questions, examples: Sequence[Example]) -> list[Prediction]:
        """What the head's scores decide, one for each example."""
        raise NotImplementedError

    def measure(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        """How good the answers are, by metric."""
        raise NotImplementedError

    def balance(self, examples: Sequence[Example]) -> str | None:
        """A sentence about very unequal classes, if they are."""
        return None

    def yardsticks(self, train: Sequence[Example], dev: Sequence[Example]) -> list[str]:
        """What answers without a model would score on dev, a sentence each."""
        return []

    # Test rows, where models are compared

    right_by: ClassVar[str | None] = None  # a metric that is a mean over rows: 1 where an answer is right; None: each row is measured alone

    def row_measures(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Measures:
        """The metrics that are sums over rows, and so quick to resample; one that is not named here is measured anew on every resample."""
        return {}

    def row_scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> RowScores:
        """By the metric that decides; over all rows its score is what `measure` says."""
        if len(examples) != len(predictions) or not examples:
            raise PlumeError(
                f"{self.called}: {len(predictions):,} predictions for {len(examples):,} test rows: one for each is needed, and a row at least."
            )
        if self.metric in ERRORS:
            raise PlumeError(
                f"{self.called}: models are compared by a score of which more is better, and of {self.metric} less is: choose another metric."
            )
        made = self.row_measures(examples, predictions).get(self.metric)
        if made is not None:
            return made()
        if self.metric not in (known := self.measure(examples, predictions)):
            raise PlumeError(f"{self.called}: '{self.metric}' is not measured here: choose from {', '.join(known)}.")
        return Remeasured(rows=len(examples), task=self, examples=examples, predictions=predictions)

    @property
    def graded(self) -> bool:
        """Are its answers better or worse, and hardly ever just right?"""
        return False

    def grades(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> NDArray[np.float64]:
        """[rows] How good each answer is; 1 for one that is right."""
        if self.right_by is not None:
            return self._row_statistics(self.right_by, examples, predictions)[:, 0]
        return np.array([self.measure([example], [one])[self.metric] for example, one in zip(examples, predictions, strict=True)])

    def _row_statistics(self, metric: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> NDArray[np.float64]:
        made = self.row_measures(examples, predictions)[metric]()
        assert isinstance(made, Summed)
        return made.statistics

    def readable(self, example: Example, given: Mapping[str, Prediction]) -> Readable:
        """The right answer of a row and each model's, in a few words."""
        return str(example.answer), {model: str(one) for model, one in given.items()}


def mark_cut(predictions: list[Prediction], questions: Questions) -> list[Prediction]:
    """An answer to a text of which only the beginning was read says so."""
    if questions.rows.cut is not None:
        for number in np.flatnonzero(np.logical_or.reduceat(questions.rows.cut, questions.groups[:-1])).tolist():
            predictions[number]["cut"] = True
    return predictions


def listed(texts: Sequence[str]) -> str:
    """Several answers as one text.

    >>> listed(["a", "b"]), listed([])
    ('a, b', '–')
    """
    return ", ".join(texts) or NOTHING


@dataclass(frozen=True, kw_only=True)
class DirectTask(Part):
    """What a trained model answers without being tuned for it: by what it was pre-trained to do, or by another task's head."""

    kind: str
    title: str
    metric: str

    reads: ClassVar[str] = "plain lines"

    def respond(self, model: Loaded, examples: Sequence[Example], **options: Any) -> Responses:
        """An answer for each example, as `Task.respond` gives it."""
        return self.predict(model, [one.texts[0] if len(one.texts) == 1 else one.texts for one in examples], **options), Counter()

    def predict(self, model: Loaded, items: Sequence[Any], **options: Any) -> list[Prediction]:
        """`model` is what `plume.load` returns."""
        raise NotImplementedError

    def evaluate(self, model: Loaded, paths: Sequence[Path], **options: Any) -> dict[str, float]:
        """Measure on files, by metric."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class RunTask(Part):
    """What has a run of its own: not a head on a body, but a model of another make. `plume tune` starts it, `plume eval` measures it."""

    kind: str
    title: str
    metric: str

    reads: ClassVar[str] = ""
