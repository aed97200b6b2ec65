"""What a tuning run will do, before it does anything: its files read, its way to adapt, its training and its settings complete."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Budget
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body
from plume.tuning.bodies import as_tuned, read_model
from plume.tuning.kinds.tagging import Tagging
from plume.tuning.preparing import PreparedTask, prepare
from plume.tuning.rows.questions import Questions
from plume.tuning.settings import TaskData, TuneSettings, Wishes, epochs_for, pooled, together, training_for, usual_way
from plume.tuning.task import Columns
from plume.tuning.tuned import coder_for, reading_order, require_languages
from plume.tuning.writing.by_text import approach

_MEAN = (
    "With {examples:,} examples the head reads the mean of all states. --pooling cls reads the family's own token instead, as transformers' classes "
    "do, which an export needs."
)
_CHAIN = "{task}: the labels of a sentence are chosen together, by a CRF. --no-crf labels each word by itself, as transformers' classes do."
Asked = tuple[Questions, Counter[str]]  # a task's training examples as questions, and what was lost on the way, counted in words
Made = TypeVar("Made", bound=TuneSettings)


class Ready(NamedTuple):
    """What a run of tuning starts from, made once: the model below, and the questions of each task."""

    body: Body
    tokenizer: Tokenizer
    asked: list[Asked]


class PlannedTuning(NamedTuple, Generic[Made]):
    """A run that could begin."""

    settings: Made
    prepared: list[PreparedTask]
    ready: Ready


def plan(
    model: Path,
    data: Sequence[TaskData],
    kind: type[Made],
    *,
    adapt: Callable[[Adaptation], Adaptation] = lambda usual: usual,
    wishes: Wishes = Wishes(),
    columns: Columns = Columns(),
    overrides: Sequence[str] = (),
    budget: str | None = None,
    answer: str | None = None,
    one_token: bool = False,
    language: str | None = None,
    known: bool = False,
    seed: int = 0,
    split: int | None = None,
    **settings: Any,
) -> PlannedTuning[Made]:
    """`adapt` is told the way that suits the model; `answer` is `text` or `head`, for encoder–decoders, which can do both. `one_token`: heads read
    the family's own token, however few the examples. `known`: the tasks have their labels, and the layout of their files. `settings` are other
    fields of `kind`."""
    data = [replace(one, train=_absolute(one.train), dev=_absolute(one.dev)) for one in data]
    prepared = [prepare(one, columns, seed=seed if split is None else split, known=known, language=language) for one in data]
    body, tokenizer = read_model(model)
    require_languages(body, language)
    adaptation = adapt(usual_way(body))
    from_scratch = bool(settings.get("from_scratch"))
    if from_scratch and not adaptation.from_scratch:
        raise PlumeError("From scratch everything has to learn: leave out --mode adapters and --freeze.")
    body = as_tuned(body, tokenizer, adaptation=adaptation, from_scratch=from_scratch, seed=seed)
    prepared = [replace(one, task=approach(one.task, body, tokenizer, one.train, adaptation=adaptation, by=answer)) for one in prepared]
    prepared = [_settled(one, body, adaptation) for one in prepared]
    examples = sum(len(one.train) for one in prepared)
    if not one_token:
        tasks, order = [one.task for one in prepared], reading_order(body, tokenizer)
        asked, adaptation = adaptation, pooled(adaptation, body, tasks, examples=examples, order=order)
        if adaptation != asked:
            prepared[0].notes.append(_MEAN.format(examples=examples))
    training = training_for(body, adaptation, wishes, examples=examples, from_scratch=from_scratch)
    for assignment in overrides:
        training = training.override(assignment)
    epochs = epochs_for(examples) if wishes.epochs is None else wishes.epochs
    usual = coder_for(body, tokenizer, length=training.length).usual_language([example for one in prepared for example in one.train])
    ready = Ready(body, tokenizer, as_asked(prepared, body, tokenizer, length=training.length, usual=usual))
    rows = [len(questions.drawn(np.random.default_rng(0))) for questions, _ in ready.asked]  # windows of long texts are rows of their own
    steps = max(1, round(epochs * sum(-(-count // training.batch) for count in rows)))
    made = kind(
        model=os.path.abspath(model),
        data=tuple(replace(one, task=ready.task) for one, ready in zip(data, prepared, strict=True)),
        adaptation=adaptation,
        training=training,
        budget=Budget(unit="steps", amount=steps) if budget is None else Budget.parse(budget),
        seed=seed,
        split=split,
        language=language,
        usual=usual,
        **({"measurements": min(max(round(epochs), 5), 10)} | settings),
    )
    return PlannedTuning(made, prepared, ready)


def _settled(prepared: PreparedTask, body: Body, adaptation: Adaptation) -> PreparedTask:
    task = prepared.task.settled(together=together(adaptation, body))
    chosen = isinstance(task, Tagging) and task.crf and task != prepared.task
    notes = [_CHAIN.format(task=task.called)] if chosen else []
    return replace(prepared, task=task, notes=[*prepared.notes, *notes])


def _absolute(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.path.abspath(path) for path in paths)


def ready_again(settings: TuneSettings, prepared: Sequence[PreparedTask]) -> Ready:
    """The same for a run that goes on."""
    source, tokenizer = read_model(Path(settings.model))
    body = as_tuned(source, tokenizer, adaptation=settings.adaptation, from_scratch=settings.from_scratch, seed=settings.seed)
    return Ready(body, tokenizer, as_asked(prepared, body, tokenizer, length=settings.training.length, usual=settings.usual))


def as_asked(prepared: Sequence[PreparedTask], body: Body, tokenizer: Tokenizer, *, length: int, usual: str | None) -> list[Asked]:
    """The training examples of each task as questions."""
    coder = coder_for(body, tokenizer, length=length, usual=usual)
    return [one.task.questions(one.train, coder.fresh()) for one in prepared]
