"""What a user asked for when training a RAG, completed from the task, the writer and the files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.model.recipe import Training
from plume.model.schedule import Linear
from plume.model.use.abilities import Abilities
from plume.readers.example import Reading
from plume.retrieval.collection import Passages, read_passages
from plume.retrieval.questions import SearchQuestion, read_questions
from plume.retrieval.rag.declared import RagDeclared
from plume.sentences.planning import source_of
from plume.tasks.rag import RetrievalAugmented
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Budget
from plume.train.settings import RunSettings
from plume.tuning.preparing import FEW
from plume.tuning.settings import Wishes, epochs_for, length_for
from plume.tuning.writing.finding import ENCODER_DECODERS, require_way
from plume.tuning.writing.ways import ByDecoder
from plume.tuning.writing.written import usual_length

_MOST_ANSWERS = 3  # of a question, that are learned: a row each
_HELD_OUT = 200  # questions at most, where no dev file is given


@dataclass(frozen=True, kw_only=True)
class RagSettings(RunSettings):
    """A run as run.json keeps it."""

    model: str
    retriever: str | None  # a model directory; None: words find
    train: tuple[str, ...]
    dev: tuple[str, ...] = ()
    declared: RagDeclared
    training: Training
    dropout: float = 0.1
    patience: int = 10  # measurements without a better one before the run ends

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise PlumeError(f"--dropout is a share from 0 to below 1, not {self.dropout}.")

    def lower_rate(self, rate: float) -> str:
        return f"--rate {rate:.2g}"

    @property
    def files(self) -> tuple[str, ...]:
        """What a run that goes on must find unchanged."""
        return (*self.train, *self.dev, *self.declared.documents)


@dataclass(frozen=True, kw_only=True)
class RagData:
    """The files of a run, read: a question and one of its answers a row."""

    passages: Passages
    train: list[tuple[str, str]]
    dev: list[SearchQuestion]
    held_out: bool
    notes: list[str]


class PlannedRag(NamedTuple):
    """Settings, and what was read to make them."""

    settings: RagSettings
    data: RagData
    source: Model
    tokenizer: Tokenizer


def read_rag_data(task: RetrievalAugmented, train: Sequence[str], dev: Sequence[str], documents: Sequence[str], seed: int) -> RagData:
    """What the files lack is said here, before anything is loaded."""
    passages = read_passages(documents, words=task.passage)
    if len(passages) < task.passages:
        raise PlumeError(
            f"{documents[0]} has {len(passages)} passages, and {task.passages} are read for a question: --task-set passages={len(passages)}."
        )
    asked, notes = _answered(train)
    measured, more = _answered(dev)
    notes = [*notes, *more, f"{len(passages):,} passages"]
    held_out = bool(measured) or len(asked) >= FEW
    if not measured and held_out:
        order = np.random.default_rng(seed).permutation(len(asked)).tolist()
        cut = min(len(asked) // 10, _HELD_OUT)
        asked, measured = [asked[number] for number in sorted(order[cut:])], [asked[number] for number in sorted(order[:cut])]
        notes.append(f"no dev file was given, so {len(measured):,} questions are held out for it.")
    elif not measured:
        measured = asked
        notes.append(
            f"no dev file was given, and {len(asked):,} questions are too few to hold any out: scores are on the training questions themselves."
        )
    rows = [(one.question, answer) for one in asked for answer in one.answers[:_MOST_ANSWERS]]
    return RagData(passages=passages, train=rows, dev=measured, held_out=held_out, notes=notes)


def _answered(files: Sequence[str]) -> tuple[list[SearchQuestion], list[str]]:
    found: list[SearchQuestion] = []
    notes: list[str] = []
    for file in files:
        reading = Reading(file=Path(file))
        every = read_questions(Path(file), reading, second="answers")
        for one in every:
            if one.answers:
                found.append(one)
            else:
                reading.skip("question without an answer", one.place)
        reading.read = len(every) - reading.skipped["question without an answer"]
        notes += reading.lines()
    if files and not found:
        raise PlumeError(f"{files[0]}: no question has an answer: give them as 'answers' or 'answer'.")
    return found, notes


def planned_rag(
    model: Path,
    *,
    task: RetrievalAugmented,
    train: Sequence[str],
    dev: Sequence[str],
    documents: Sequence[str],
    retriever: Path | None,
    wishes: Wishes = Wishes(),
    budget: str | None = None,
    overrides: Sequence[str] = (),
    seed: int = 0,
    **settings: Any,
) -> PlannedRag:
    """Nothing is written yet. `settings` are further fields of `RagSettings`."""
    train, dev, documents = (tuple(os.path.abspath(path) for path in paths) for paths in (train, dev, documents))
    data = read_rag_data(task, train, dev, documents, seed)
    source, tokenizer, _ = source_of(model)
    way = decoder_way(source, tokenizer)
    longest = usual_length([answer for _, answer in data.train], tokenizer) if task.longest is None else task.longest
    length = length_for(source, wishes.length)
    declared = RagDeclared(
        task=task,
        way=way,
        length=length,
        longest=min(longest, length - 1 - len(way.opening)),
        documents=documents,
        dense=retriever is not None,
    )
    training = Training(
        length=length, batch=min(wishes.batch or 16, len(data.train)), peak=wishes.rate or source.tuning_rate, schedule=Linear(warmup=0.1)
    )
    for assignment in overrides:
        training = training.override(assignment)
    epochs = epochs_for(len(data.train)) if wishes.epochs is None else wishes.epochs
    steps = max(1, round(epochs * -(-len(data.train) // training.batch)))
    made = RagSettings(
        model=os.path.abspath(model), retriever=None if retriever is None else os.path.abspath(retriever), train=train, dev=dev,
        declared=declared, training=training, seed=seed,
        budget=Budget(unit="steps", amount=steps) if budget is None else Budget.parse(budget), **settings,
    )  # fmt: skip
    return PlannedRag(settings=made, data=data, source=source, tokenizer=tokenizer)


def decoder_way(model: Model, tokenizer: Tokenizer) -> ByDecoder:
    """How an encoder–decoder writes; others are refused."""
    if not model.through_decoder:
        raise PlumeError(
            f"rag needs an encoder–decoder ({ENCODER_DECODERS}), which reads a passage and writes an answer; this is {model.recipe.name}."
        )
    way = require_way(Abilities(model, tokenizer), "rag")
    if not isinstance(way, ByDecoder):
        raise PlumeError(f"rag needs a model whose decoder writes; {model.recipe.name} writes otherwise.")
    return way
