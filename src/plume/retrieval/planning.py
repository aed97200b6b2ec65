"""A run that trains a bi-encoder, planned before it runs: its files read, its negatives found, its settings complete."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.nn.pooling import Pooling
from plume.readers.example import Reading
from plume.retrieval.collection import Passages, passages_of, read_passages
from plume.retrieval.pairing import Paired, filled_up, pair
from plume.retrieval.questions import SearchQuestion, read_questions
from plume.retrieval.settings import QUESTIONS, RetrievalData, RetrievalSettings, epochs_of, retrieval_training
from plume.retrieval.words import WordIndex
from plume.sentences.grouping import Grouped
from plume.sentences.planning import source_of
from plume.tasks.retrieval import Retrieval
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Budget
from plume.tuning.preparing import FEW
from plume.tuning.settings import Wishes
from plume.vectors.sentence import SentenceVectors

_HELD_OUT = 500  # questions at most, where no dev file is given
_NOT_LEARNED = "no dev file was given, and {count:,} questions are too few to hold any out: the last weights are kept."


@dataclass(frozen=True, kw_only=True)
class RetrievalRows:
    """The files of a run, read."""

    passages: Passages
    train: list[Paired]
    dev: list[Paired]  # none: nothing chooses among the weights
    notes: list[str]

    def grouped(self, task: Retrieval, seed: int) -> Grouped:
        """Each question with its passage and its hard negatives, as texts."""
        texts = self.passages.texts
        wrong = filled_up(self.train, len(texts), negatives=task.negatives, random=task.random, seed=seed)
        rows = [
            (one.asked.question, texts[one.right[0]], *(texts[number] for number in hard))
            for one, hard in zip(self.train, wrong, strict=True)
        ]
        return Grouped(texts=rows, score=[1.0] * len(rows))


class PlannedRetrieval(NamedTuple):
    """Settings, and what was read to make them."""

    settings: RetrievalSettings
    rows: RetrievalRows
    source: Model
    tokenizer: Tokenizer


def read_rows(task: Retrieval, data: RetrievalData, seed: int) -> RetrievalRows:
    """What the files lack is said here, before anything is loaded."""
    train, notes = _questions(data.train)
    dev, more = _questions(data.dev)
    passages = read_passages(data.documents, words=task.passage) if data.documents else _brought([*train, *dev])
    words = WordIndex(passages.texts) if (task.negatives and not task.random) or not all(one.positives for one in [*train, *dev]) else None
    paired = pair(train, passages, words, negatives=task.negatives)
    notes = [*notes, *more, f"{len(passages):,} passages{'' if data.documents else ', those of the questions'}", *paired.lines("training")]
    if dev:
        measured = pair(dev, passages, words, negatives=task.negatives)
        return RetrievalRows(passages=passages, train=paired.pairs, dev=measured.pairs, notes=[*notes, *measured.lines("dev")])
    if len(paired.pairs) < FEW:
        return RetrievalRows(passages=passages, train=paired.pairs, dev=[], notes=[*notes, _NOT_LEARNED.format(count=len(paired.pairs))])
    learned, held = _apart(paired.pairs, seed)
    notes.append(f"no dev file was given, so {len(held):,} questions are held out for it, with their passages.")
    return RetrievalRows(passages=passages, train=learned, dev=held, notes=notes)


def _questions(files: Sequence[str]) -> tuple[list[SearchQuestion], list[str]]:
    found: list[SearchQuestion] = []
    notes: list[str] = []
    for file in files:
        reading = Reading(file=Path(file))
        found += read_questions(Path(file), reading)
        notes += reading.lines()
    return found, notes


def _brought(questions: Sequence[SearchQuestion]) -> Passages:
    """The passages that come with the questions, right and wrong."""
    return passages_of(text for one in questions for text in (*one.positives, *one.negatives))


def _apart(pairs: list[Paired], seed: int) -> tuple[list[Paired], list[Paired]]:
    """About a tenth apart; questions about one passage stay on one side."""
    count = min(max(len(pairs) // 10, 1), _HELD_OUT)
    held: set[int] = set()
    sizes = np.bincount([one.right[0] for one in pairs])
    for number in np.random.default_rng(seed).permutation(np.flatnonzero(sizes)).tolist():
        if sum(int(sizes[one]) for one in held) >= count:
            break
        held.add(number)
    learned = [one for one in pairs if one.right[0] not in held]
    if len(learned) < 2:
        raise PlumeError("All questions are about one passage, which cannot be both trained on and measured on: give a --dev file.")
    return learned, [one for one in pairs if one.right[0] in held]


def planned(
    model: Path,
    *,
    task: Retrieval,
    data: RetrievalData,
    wishes: Wishes = Wishes(),
    pooling: Pooling | None = None,
    budget: str | None = None,
    overrides: Sequence[str] = (),
    seed: int = 0,
    **settings: Any,
) -> PlannedRetrieval:
    """Nothing is written yet. `settings` are further fields of `RetrievalSettings`."""
    data = RetrievalData(train=_absolute(data.train), dev=_absolute(data.dev), documents=_absolute(data.documents))
    rows = read_rows(task, data, seed)
    if len(rows.train) < 2:
        raise PlumeError(f"{data.train[0]} has one usable question, and retrieval tells passages of a batch apart: give more.")
    source, tokenizer, before = source_of(model)
    training = retrieval_training(source, wishes, questions=len(rows.train))
    for assignment in overrides:
        training = training.override(assignment)
    if pooling is None and before is not None and isinstance(before.pooling, Pooling):
        pooling = before.pooling
    epochs = epochs_of(len(rows.train)) if wishes.epochs is None else wishes.epochs
    steps = max(1, round(epochs * -(-len(rows.train) // training.batch)))
    made = RetrievalSettings(
        model=os.path.abspath(model), task=task, data=data, training=training, seed=seed,
        vectors=SentenceVectors(pooling=pooling, similarity=task.similarity, questions=QUESTIONS if task.two else ""),
        budget=Budget(unit="steps", amount=steps) if budget is None else Budget.parse(budget), **settings,
    )  # fmt: skip
    if before is not None and (before.transforms or before.prompt):
        rows.notes.append("the prompt and the transforms of the model's sentence.json are left out: passages are read as they are.")
    return PlannedRetrieval(settings=made, rows=rows, source=source, tokenizer=tokenizer)


def _absolute(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(os.path.abspath(path) for path in paths)
