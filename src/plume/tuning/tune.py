"""Tuning: from a trained model and labelled files to a directory that predicts."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from plume.core.errors import PlumeError
from plume.core.files import read_json, removed_if_refused
from plume.core.part import part_from_json, replace
from plume.data.loader import Mixture
from plume.model.checkpoint import WEIGHTS
from plume.text.tokenizer import Tokenizer
from plume.train.budget import Budget
from plume.train.checkpoint import publish_weights
from plume.train.fit import begin, fit, refuse_other_data
from plume.train.loop import Outcome, TrainingPlan
from plume.train.metrics import METRICS
from plume.train.settings import RUN
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.body import Body
from plume.tuning.adapting.network import TaskModel
from plume.tuning.best import BEST, BEST_SCORE, Best
from plume.tuning.bodies import as_tuned, read_model
from plume.tuning.card import how_ended, write_card
from plume.tuning.declared import Declared, save_declaration
from plume.tuning.kinds.tagging import Tagging
from plume.tuning.preparing import PreparedTask, prepare
from plume.tuning.rows.questions import QuestionReader, Questions
from plume.tuning.settings import TaskData, TuneSettings, Wishes, epochs_for, pooled, together, training_for, usual_way
from plume.tuning.task import Columns, Task
from plume.tuning.tuned import TunedModel, assemble, coder_for, reading_order, require_languages
from plume.tuning.writing.by_text import approach

_MEAN = (
    "With {examples:,} examples the head reads the mean of all states. --pooling cls reads the family's own token instead, as transformers' classes "
    "do, which an export needs."
)
_CHAIN = "{task}: the labels of a sentence are chosen together, by a CRF. --no-crf labels each word by itself, as transformers' classes do."
_POWER = 0.75  # of a task's size, in how often it gets its turn (BAM, arXiv:1907.04829 §4.1)
Asked = tuple[Questions, Counter[str]]  # a task's training examples as questions, and what was lost on the way, counted in words


class Ready(NamedTuple):
    """What a run of tuning starts from, made once: the model below, and the questions of each task."""

    body: Body
    tokenizer: Tokenizer
    asked: list[Asked]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A tuning run that has ended."""

    folder: Path
    outcome: Outcome
    scores: dict[str, float]  # of the best model, on dev; where nothing was held out, of the last on the training examples
    ended: str  # in words: as planned, or why early
    held_out: bool = True  # are the scores of examples that were not trained on?


def start(
    model: Path,
    data: Sequence[TaskData],
    folder: Path,
    *,
    adapt: Callable[[Adaptation], Adaptation] = lambda usual: usual,
    wishes: Wishes = Wishes(),
    columns: Columns = Columns(),
    overrides: Sequence[str] = (),
    budget: str | None = None,
    answer: str | None = None,
    one_token: bool = False,
    language: str | None = None,
    quiet: bool = False,
    seed: int = 0,
    **settings: Any,
) -> Tuned:
    """A new run into a directory that does not exist yet or is empty. `adapt` is told the way that suits the model; `answer`
    is `text` or `head`, for encoder–decoders, which can do both. `one_token`: heads read the family's own token, however few the examples."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or resume it with: plume tune --resume {folder}")
    data = [replace(one, train=_absolute(one.train), dev=_absolute(one.dev)) for one in data]
    prepared = [prepare(one, columns, seed=seed, language=language) for one in data]
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
    ready = Ready(body, tokenizer, _asked(prepared, body, tokenizer, length=training.length, usual=usual))
    rows = [len(questions) for questions, _ in ready.asked]  # windows of long texts are rows of their own
    steps = max(1, round(epochs * sum(-(-count // training.batch) for count in rows)))
    made = TuneSettings(
        model=os.path.abspath(model),
        data=tuple(replace(one, task=ready.task) for one, ready in zip(data, prepared, strict=True)),
        adaptation=adaptation,
        training=training,
        budget=Budget(unit="steps", amount=steps) if budget is None else Budget.parse(budget),
        seed=seed,
        language=language,
        usual=usual,
        **({"measurements": min(max(round(epochs), 5), 10)} | settings),
    )
    with removed_if_refused(folder, unless=(folder / METRICS).exists):  # it is opened when the run begins
        return run_prepared(made, prepared, folder, ready=ready, quiet=quiet)


def resume(folder: Path, *, quiet: bool = False) -> Tuned:
    """Go on from the last checkpoint."""
    if not (folder / RUN).exists():
        raise PlumeError(f"{folder} holds no run to resume: there is no {RUN} in it.")
    settings = part_from_json(read_json(folder / RUN, "it should hold the run's settings"))
    if not isinstance(settings, TuneSettings):
        raise PlumeError(f"{folder} is no fine-tuning run. Resume it with: plume pretrain --resume {folder}")
    refuse_other_data(
        folder, _fingerprint(settings), f"The files that {folder} was tuned on have changed: restore them, or start a new run."
    )
    prepared = [prepare(one, seed=settings.seed, known=True, language=settings.language) for one in settings.data]
    return run_prepared(settings, prepared, folder, quiet=quiet, fresh=False)


def _settled(prepared: PreparedTask, body: Body, adaptation: Adaptation) -> PreparedTask:
    task = prepared.task.settled(together=together(adaptation, body))
    chosen = isinstance(task, Tagging) and task.crf and task != prepared.task
    notes = [_CHAIN.format(task=task.called)] if chosen else []
    return replace(prepared, task=task, notes=[*prepared.notes, *notes])


def _absolute(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.path.abspath(path) for path in paths)


def _fingerprint(settings: TuneSettings) -> dict[str, str]:
    files = [path for one in settings.data for path in (*one.train, *one.dev)]
    found = {}
    for path in files:
        with open(path, "rb") as opened:
            found[path] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found


def run_prepared(
    settings: TuneSettings,
    prepared: list[PreparedTask],
    folder: Path,
    *,
    ready: Ready | None = None,
    quiet: bool = False,
    fresh: bool = True,
) -> Tuned:
    """Train on examples that have been read."""
    processes = begin(settings)
    body, tokenizer, asked = ready or _ready(settings, prepared)
    declared = Declared(
        tasks=tuple(one.task for one in prepared),
        adaptation=settings.adaptation,
        length=settings.training.length,
        order=reading_order(body, tokenizer),
        language=settings.usual,
    )
    model = _fresh_model(body, declared, settings).to(processes.device)
    tuned = TunedModel(model, tokenizer, declared)
    best = Best(tuned, prepared, settings, folder, write=processes.first)
    model.remember()
    if model.remembered is not None:
        model.eval()
        for questions, _ in asked:
            tuned.table(questions)  # of the training examples, before they come in an order of their own
    best.rehearse()
    model.train()
    outcome = fit(
        model, _mixture(prepared, asked, tuned, settings), plan=_plan(settings, declared.tasks), settings=settings, folder=folder,
        processes=processes, fingerprint=_fingerprint(settings), write=lambda: save_declaration(folder, declared, body, tokenizer),
        measure=best.measure, enough=best.enough, opening=_opening(settings, prepared, model, [notes for _, notes in asked]), publish=False,
        fresh=fresh, quiet=quiet,
    )  # fmt: skip
    model.remembered = None
    if not best.history:  # stopped before the first mark: not written down, so that a run which goes on is as one that was never stopped
        best.measure(outcome.position.spent)
        processes.wait()
    scores: dict[str, Any] = read_json(folder / BEST_SCORE, "the run keeps its best measurement there")
    if processes.first:
        publish_weights(folder / BEST, folder / WEIGHTS)
        write_card(
            folder, settings=settings, prepared=prepared, outcome=outcome, best=scores, curve=best.history,
            lost=[notes for _, notes in asked], model=model,
        )  # fmt: skip
    processes.wait()
    return Tuned(folder=folder, outcome=outcome, scores=scores["scores"], ended=how_ended(outcome, settings), held_out=best.held_out)


def _ready(settings: TuneSettings, prepared: Sequence[PreparedTask]) -> Ready:
    source, tokenizer = read_model(Path(settings.model))
    body = as_tuned(source, tokenizer, adaptation=settings.adaptation, from_scratch=settings.from_scratch, seed=settings.seed)
    return Ready(body, tokenizer, _asked(prepared, body, tokenizer, length=settings.training.length, usual=settings.usual))


def _asked(prepared: Sequence[PreparedTask], body: Body, tokenizer: Tokenizer, *, length: int, usual: str | None) -> list[Asked]:
    coder = coder_for(body, tokenizer, length=length, usual=usual)
    return [one.task.questions(one.train, coder.fresh()) for one in prepared]


def _fresh_model(body: Body, declared: Declared, settings: TuneSettings) -> TaskModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)  # for what has its own way to begin: recurrent layers, adapters
        model = assemble(body, declared, from_scratch=settings.from_scratch)
    model.initialise(settings.seed)
    for task in declared.tasks:
        task.begin(model.head(task.called))
    return model


def _mixture(
    prepared: Sequence[PreparedTask], asked: Sequence[Asked], tuned: TunedModel, settings: TuneSettings
) -> Mixture[QuestionReader]:
    return Mixture(
        readers=tuple(_reader(one, questions, tuned, settings) for one, (questions, _) in zip(prepared, asked, strict=True)),
        shares=tuple(len(one.train) ** _POWER for one in prepared),
        seed=settings.seed,
    )


def _reader(one: PreparedTask, questions: Questions, tuned: TunedModel, settings: TuneSettings) -> QuestionReader:
    parts = settings.accumulate
    rows = max(min(settings.training.batch, len(questions)) // parts, 1) * parts  # every part gets some
    return QuestionReader(
        questions=questions,
        rows=rows,
        seed=settings.seed,
        finish=tuned.finish,
        renew=lambda epoch: tuned.renewed(one.task, one.train, epoch),
    )


def _plan(settings: TuneSettings, tasks: Sequence[Task]) -> TrainingPlan:
    return TrainingPlan(training=settings.training, weights=[{task.called: 1.0} for task in tasks], during=[(0.0, 1.0)] * len(tasks))


def _opening(settings: TuneSettings, prepared: Sequence[PreparedTask], model: torch.nn.Module, lost: Sequence[Counter[str]]) -> list[str]:
    learning = sum(p.numel() for p in model.parameters() if p.requires_grad)
    lines = [line for one in prepared for reading in one.readings for line in reading.lines()]
    lines += [note for one in prepared for note in one.notes]
    lines += [f"{one.task.called}: {n:,} {what}" for one, counts in zip(prepared, lost, strict=True) for what, n in counts.items() if n]
    scratch = ", from scratch" if settings.from_scratch else ""
    training = settings.training
    return [
        *lines,
        f"fine-tuning mode {settings.adaptation.mode}{scratch}: {learning:,} trainable parameters; "
        f"{settings.budget}, batch size {training.batch}, learning rate {training.peak:.2g}",
    ]
