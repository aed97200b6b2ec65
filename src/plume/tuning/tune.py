"""Tuning: from a trained model and labelled files to a directory that predicts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plume.core.errors import PlumeError
from plume.core.files import read_json, removed_if_refused
from plume.core.part import part_from_json
from plume.data.loader import Mixture
from plume.model.checkpoint import WEIGHTS
from plume.train.checkpoint import publish_weights
from plume.train.fit import begin, fit, refuse_other_data
from plume.train.loop import Outcome, TrainingPlan
from plume.train.metrics import METRICS
from plume.train.progress import HELD_OUT
from plume.train.settings import RUN
from plume.tuning.adapting.body import Body
from plume.tuning.adapting.network import TaskModel
from plume.tuning.best import BEST, BEST_SCORE, Best
from plume.tuning.bodies import take_heads
from plume.tuning.card import how_ended, write_card
from plume.tuning.declared import Declared, save_declaration
from plume.tuning.lesson import Lesson, Pupil
from plume.tuning.planning import Asked, Made, PlannedTuning, Ready, plan, ready_again
from plume.tuning.preparing import PreparedTask, prepare
from plume.tuning.rows.questions import QuestionReader, Questions
from plume.tuning.settings import TaskData, TuneSettings
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel, assemble, reading_order

NOTED = Path("train") / "noted"
POWER = 0.75  # of a task's size, in how often it gets its turn (BAM, arXiv:1907.04829 §4.1)


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A tuning run that has ended."""

    folder: Path
    outcome: Outcome
    scores: dict[str, float]  # of the best model, on dev; where nothing was held out, of the last on the training examples
    ended: str  # in words: as planned, or why early
    held_out: bool = True  # are the scores of examples that were not trained on?


def start(model: Path, data: Sequence[TaskData], folder: Path, *, quiet: bool = False, **options: Any) -> Tuned:
    """A new run into a directory that does not exist yet or is empty; `options` are those of `plan`."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or resume it with: plume tune --resume {folder}")
    return begin_planned(plan(model, data, TuneSettings, **options), folder, quiet=quiet)


def begin_planned(planned: PlannedTuning[Made], folder: Path, *, quiet: bool = False) -> Tuned:
    """Do what was planned; a folder that was never begun in is not left behind."""
    with removed_if_refused(folder, unless=(folder / METRICS).exists):  # it is opened when the run begins
        return run_prepared(planned.settings, planned.prepared, folder, ready=planned.ready, quiet=quiet)


def resume(folder: Path, *, quiet: bool = False) -> Tuned:
    """Go on from the last checkpoint."""
    settings = read_settings(folder)
    refuse_other_data(
        folder, _fingerprint(settings), f"The files that {folder} was tuned on have changed: restore them, or start a new run."
    )
    prepared = [prepare(one, seed=settings.split_seed, known=True, language=settings.language) for one in settings.data]
    return run_prepared(settings, prepared, folder, quiet=quiet, fresh=False)


def read_settings(folder: Path) -> TuneSettings:
    """Of a run that was begun."""
    if not (folder / RUN).exists():
        raise PlumeError(f"{folder} holds no run to resume: there is no {RUN} in it.")
    settings = part_from_json(read_json(folder / RUN, "it should hold the run's settings"))
    if not isinstance(settings, TuneSettings):
        raise PlumeError(f"{folder} is no fine-tuning run. Resume it with: plume pretrain --resume {folder}")
    return settings


def _fingerprint(settings: TuneSettings) -> dict[str, str]:
    found = {}
    for path in settings.files:
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
    body, tokenizer, asked = ready or ready_again(settings, prepared)
    declared = Declared(
        tasks=tuple(one.task for one in prepared),
        adaptation=settings.adaptation,
        length=settings.training.length,
        order=reading_order(body, tokenizer),
        language=settings.usual,
    )
    model = _fresh_model(body, declared, settings).to(processes.device)
    tuned = TunedModel(model, tokenizer, declared)
    tuned.noted = folder / NOTED
    best = Best(tuned, prepared, settings, folder, write=processes.first)
    model.remember()
    if model.remembered is not None:
        model.eval()
        for questions, _ in asked:
            tuned.table(questions)  # of the training examples, before they come in an order of their own
    best.rehearse()
    model.train()
    pupil = Pupil(tuned=tuned, prepared=prepared, asked=[questions for questions, _ in asked], folder=folder)
    lesson = settings.lesson(pupil) or by_answers(pupil, settings)
    outcome = fit(
        lesson.model, lesson.mixture, plan=lesson.plan, settings=settings, folder=folder,
        processes=processes, fingerprint=_fingerprint(settings), write=lambda: save_declaration(folder, declared, body, tokenizer),
        measure=best.measure, enough=best.enough, publish=False, some_unused=lesson.some_unused, fresh=fresh, quiet=quiet,
        measured_on=HELD_OUT if best.held_out else "on the training examples",
        opening=[*_opening(settings, prepared, model, asked), *lesson.notes],
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


def _fresh_model(body: Body, declared: Declared, settings: TuneSettings) -> TaskModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)  # for what has its own way to begin: recurrent layers, adapters
        model = assemble(body, declared, from_scratch=settings.from_scratch)
    model.initialise(settings.seed)
    if settings.keep_heads:
        take_heads(model, Path(settings.model))
        return model
    for task in declared.tasks:
        task.begin(model.head(task.called))
    return model


def by_answers(pupil: Pupil, settings: TuneSettings) -> Lesson:
    """What a run learns from if nothing else is said: the examples' answers."""
    mixture = Mixture(
        readers=tuple(_reader(one, asked, pupil.tuned, settings) for one, asked in zip(pupil.prepared, pupil.asked, strict=True)),
        shares=tuple(len(one.train) ** POWER for one in pupil.prepared),
        seed=settings.seed,
    )
    tasks = [one.task for one in pupil.prepared]
    return Lesson(
        model=pupil.tuned.model,
        mixture=mixture,
        plan=_plan(settings, tasks),
        some_unused=len(tasks) > 1 or pupil.tuned.model.top.some_unused,
    )


def _reader(one: PreparedTask, questions: Questions, tuned: TunedModel, settings: TuneSettings) -> QuestionReader:
    return QuestionReader(
        questions=questions,
        rows=rows_of_a_batch(questions, settings),
        seed=settings.seed,
        finish=tuned.finish,
        renew=lambda epoch: tuned.renewed(one.task, one.train, epoch),
    )


def rows_of_a_batch(questions: Questions, settings: TuneSettings) -> int:
    """As many as there are, at most; every accumulated part gets some."""
    parts = settings.accumulate
    return max(min(settings.training.batch, _drawn(questions)) // parts, 1) * parts


def _drawn(questions: Questions) -> int:
    """How many an epoch reads, which is the same for all."""
    return len(questions.drawn(np.random.default_rng(0)))


def _plan(settings: TuneSettings, tasks: Sequence[Task]) -> TrainingPlan:
    return TrainingPlan(training=settings.training, weights=[{task.called: 1.0} for task in tasks], during=[(0.0, 1.0)] * len(tasks))


def _opening(settings: TuneSettings, prepared: Sequence[PreparedTask], model: torch.nn.Module, asked: Sequence[Asked]) -> list[str]:
    learning = sum(p.numel() for p in model.parameters() if p.requires_grad)
    lines = [line for one in prepared for reading in one.readings for line in reading.lines()]
    lines += [note for one in prepared for note in one.notes]
    lines += [f"{one.task.called}: {n:,} {what}" for one, (_, lost) in zip(prepared, asked, strict=True) for what, n in lost.items() if n]
    lines += [f"{of.name}: an epoch reads {n:,} of {len(of):,} windows" for of, _ in asked if (n := _drawn(of)) < len(of)]
    scratch = ", from scratch" if settings.from_scratch else ""
    training = settings.training
    return [
        *lines,
        f"fine-tuning mode {settings.adaptation.mode}{scratch}: {learning:,} trainable parameters; "
        f"{settings.budget}, batch size {training.batch}, learning rate {training.peak:.2g}",
    ]
