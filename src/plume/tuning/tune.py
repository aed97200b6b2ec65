"""Tuning: from a trained model and labelled files to a directory that predicts."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.core.part import part_from_json, replace
from plume.data.loader import Mixture
from plume.model.checkpoint import WEIGHTS, load_model, load_weights, save_weights, state_of
from plume.readers.example import Example, Reading
from plume.static.model import WordModel, is_word_model
from plume.text.tokenizer import Tokenizer
from plume.train.allocator import keep_freed_memory
from plume.train.budget import Budget, Spent
from plume.train.checkpoint import Position, checkpoints, load_checkpoint, publish_weights
from plume.train.device import choose_device, choose_precision
from plume.train.distributed import Processes
from plume.train.loop import Loop, Outcome, Plan
from plume.train.metrics import MetricsLog, read_metrics
from plume.train.optimiser import make_optimiser
from plume.train.pretrain import DATA
from plume.train.progress import Progress
from plume.train.settings import RUN, save_settings
from plume.tuning.adaptation import Adaptation, Mode
from plume.tuning.by_text import approach
from plume.tuning.card import write_card
from plume.tuning.network import Body
from plume.tuning.questions import QuestionReader, Questions
from plume.tuning.settings import TaskData, TuneSettings, Wishes, epochs_for, mode_for, training_for, with_dropout
from plume.tuning.task import Columns, Task
from plume.tuning.tuned import (
    Declared,
    TunedModel,
    assemble,
    is_tuned,
    reading_order,
    save_declaration,
)
from plume.tuning.word_body import WordBody

BEST, BEST_SCORE = Path("train") / "best.safetensors", Path("train") / "best.json"
_REHEARSED = 8  # dev examples that are measured before a run begins
_HELD_OUT = 1000  # examples at most, where no dev file is given
_POWER = 0.75  # of a task's size, in how often it gets its turn (BAM, arXiv:1907.04829 §4.1)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """One task's examples, read and laid out."""

    task: Task
    train: list[Example]
    dev: list[Example]
    readings: list[Reading]
    notes: list[str]
    dev_file: Path


@dataclass(frozen=True, kw_only=True)
class Tuned:
    folder: Path
    outcome: Outcome
    scores: dict[str, float]  # of the best model, on dev


def read_model(folder: Path) -> tuple[Body, Tokenizer]:
    """The model to tune, as it is; a tuned one gives its body."""
    if is_tuned(folder):
        tuned = TunedModel.load(folder)
        return tuned.model.body, tuned.tokenizer
    if is_word_model(folder):
        words = WordModel.load(folder)
        return WordBody(words.vectors, recipe=words.recipe, tokenizer=words.tokenizer), words.tokenizer
    return load_model(folder)


def read_body(folder: Path, *, adaptation: Adaptation, from_scratch: bool, seed: int) -> tuple[Body, Tokenizer]:
    """As it is tuned. From scratch it keeps its shape and its tokeniser, and forgets everything."""
    source, tokenizer = read_model(folder)
    if isinstance(source, WordBody):
        if from_scratch:
            generator = torch.Generator().manual_seed(seed)
            torch.nn.init.normal_(source.table.weight, std=0.1, generator=generator)
        return source, tokenizer
    recipe = with_dropout(source.recipe, adaptation)
    body = recipe.assembly.build(recipe, vocabulary=source.vocabulary)
    body.spell(tokenizer.tokens())
    if from_scratch:
        body.initialise(seed)
    else:
        load_weights(body, state_of(source), folder)
    return body, tokenizer


def prepare(data: TaskData, columns: Columns = Columns(), *, seed: int = 0, known: bool = False) -> Prepared:
    """Read a task's files; its labels and the files' layout are learned on the way, unless they are `known` from a run before."""
    train_paths, dev_paths = [Path(path) for path in data.train], [Path(path) for path in data.dev]
    task = data.task if known else data.task.fitted(train_paths, columns)
    reading = Reading(file=train_paths[0])
    train = _read(task, train_paths, reading)
    readings, notes = [reading], []
    task = task if known else task.learned(train)
    if dev_paths:
        readings.append(Reading(file=dev_paths[0]))
        dev = _read(task, dev_paths, readings[-1])
        task.check(dev, dev_paths[0])
    else:
        train, dev = _split(train, seed)
        notes.append(
            f"{task.called}: no dev file was given, so {len(dev):,} of the {len(train) + len(dev):,} examples are held out for it."
        )
    if note := task.balance(train):
        notes.append(note)
    return Prepared(task=task, train=train, dev=dev, readings=readings, notes=notes, dev_file=(dev_paths or train_paths)[0])


def _read(task: Task, paths: list[Path], reading: Reading) -> list[Example]:
    examples = list(task.read(paths, reading, labelled=True))
    if not examples:
        raise PlumeError(f"{paths[0]} has no usable example: {' '.join(reading.lines()[1:]) or 'it is empty.'}")
    return examples


def _split(examples: list[Example], seed: int) -> tuple[list[Example], list[Example]]:
    order = np.random.default_rng(seed).permutation(len(examples))
    count = min(max(len(examples) // 10, 1), _HELD_OUT)
    if len(examples) < 2:
        raise PlumeError("One example cannot be both trained on and measured on: give a --dev file.")
    held_out = set(order[:count].tolist())
    return [e for n, e in enumerate(examples) if n not in held_out], [e for n, e in enumerate(examples) if n in held_out]


def start(
    model: Path,
    data: Sequence[TaskData],
    folder: Path,
    *,
    adapt: Callable[[Mode], Adaptation] = lambda mode: Adaptation(mode=mode),
    wishes: Wishes = Wishes(),
    columns: Columns = Columns(),
    overrides: Sequence[str] = (),
    budget: str | None = None,
    answer: str | None = None,
    quiet: bool = False,
    seed: int = 0,
    **settings: Any,
) -> Tuned:
    """A new run into a directory that does not exist yet or is empty. `adapt` is told the mode that suits the model; `answer`
    is `text` or `head`, for encoder–decoders, which can do both."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlumeError(f"{folder} exists already. Choose another --out, or go on with that run: plume tune --resume {folder}")
    data = [replace(one, train=_absolute(one.train), dev=_absolute(one.dev)) for one in data]
    prepared = [prepare(one, columns, seed=seed) for one in data]
    body, tokenizer = read_model(model)
    adaptation = adapt(mode_for(body))
    prepared = [replace(one, task=approach(one.task, body, tokenizer, one.train, adaptation=adaptation, by=answer)) for one in prepared]
    examples = sum(len(one.train) for one in prepared)
    training = training_for(body, adaptation, wishes, examples=examples)
    for assignment in overrides:
        training = training.override(assignment)
    epochs = wishes.epochs or epochs_for(examples)
    steps = max(1, round(epochs * sum(-(-len(one.train) // training.batch) for one in prepared)))
    made = TuneSettings(
        model=os.path.abspath(model),
        data=tuple(replace(one, task=ready.task) for one, ready in zip(data, prepared, strict=True)),
        adaptation=adaptation,
        training=training,
        budget=Budget(unit="steps", amount=steps) if budget is None else Budget.parse(budget),
        seed=seed,
        **({"measurements": min(max(round(epochs), 5), 10)} | settings),
    )
    return run_prepared(made, prepared, folder, quiet=quiet)


def resume(folder: Path, *, quiet: bool = False) -> Tuned:
    """Go on from the last checkpoint."""
    if not (folder / RUN).exists():
        raise PlumeError(f"{folder} holds no run to resume: there is no {RUN} in it.")
    settings = part_from_json(read_json(folder / RUN, "it should hold the run's settings"))
    if not isinstance(settings, TuneSettings):
        raise PlumeError(f"{folder} is no tuning run: go on with it by 'plume pretrain --resume {folder}'.")
    prepared = [prepare(one, seed=settings.seed, known=True) for one in settings.data]
    if (folder / DATA).exists() and read_json(folder / DATA, "what the run was fed") != _fingerprint(settings):
        raise PlumeError(f"The files that {folder} was tuned on have changed: restore them, or start a new run.")
    return run_prepared(settings, prepared, folder, quiet=quiet, fresh=False)


def _absolute(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.path.abspath(path) for path in paths)


def _fingerprint(settings: TuneSettings) -> dict[str, str]:
    files = [path for one in settings.data for path in (*one.train, *one.dev)]
    return {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in files}


class Best:
    """Keeps the weights that measured best, and says when no better ones come."""

    def __init__(self, tuned: TunedModel, prepared: Sequence[Prepared], settings: TuneSettings, folder: Path, *, write: bool) -> None:
        self.tuned, self.prepared, self.settings, self.folder, self.write = tuned, prepared, settings, folder, write
        self.history: list[float] = []

    def recall(self) -> None:
        """What a run that goes on has measured before."""
        lines = [_held_out(line) for line in read_metrics(self.folder)]
        self.history = [self.main(scores) for scores in lines if scores]

    def measure(self, spent: Spent) -> dict[str, float]:
        model = self.tuned.model
        model.eval()
        found: dict[str, float] = {}
        for one in self.prepared:
            scores = self.tuned.measure(one.task, one.dev, one.readings[-1]).scores
            found |= {self._prefix(one.task) + name: value for name, value in scores.items()}
        model.train()
        main = self.main(found)
        if self.write and main > max(self.history, default=-np.inf):
            save_weights(self.folder / BEST, state_of(model))
            write_json(self.folder / BEST_SCORE, {"step": spent.steps, "main": main, "scores": found})
        self.history.append(main)
        # Those of single classes are in best.json and the card, but for one that decides.
        return {name: value for name, value in found.items() if "/" not in name or name in self.deciding}

    def main(self, scores: Mapping[str, float]) -> float:
        """What decides: the mean over the tasks of the metric that each goes by."""
        for name in self.deciding:
            if name not in scores:
                raise PlumeError(f"'{name}' is not measured here: choose --metric from {', '.join(scores)}.")
        return sum(scores[name] for name in self.deciding) / len(self.deciding)

    @property
    def deciding(self) -> list[str]:
        return [self._prefix(one.task) + (self.settings.metric or one.task.metric) for one in self.prepared]

    def rehearse(self) -> None:
        """Measure a few examples, so that what cannot be measured is known before anything is trained or written."""
        few = {
            self._prefix(one.task) + name: value
            for one in self.prepared
            for name, value in self.tuned.measure(one.task, one.dev[:_REHEARSED], one.readings[-1]).scores.items()
        }
        if self.settings.metric is None or "/" not in self.settings.metric:  # a class may not be among the few
            self.main(few)

    def _prefix(self, task: Task) -> str:
        return f"{task.called}." if len(self.prepared) > 1 else ""

    def enough(self) -> bool:
        after = len(self.history) - 1 - int(np.argmax(self.history)) if self.history else 0
        return after >= self.settings.patience


def _held_out(line: Mapping[str, Any]) -> dict[str, float]:
    """The dev scores in a line of metrics.jsonl."""
    return {name.removeprefix("held_out/"): float(value) for name, value in line.items() if name.startswith("held_out/")}


def run_prepared(settings: TuneSettings, prepared: list[Prepared], folder: Path, *, quiet: bool = False, fresh: bool = True) -> Tuned:
    """Train on examples that have been read."""
    processes = Processes(choose_device(settings.device))
    quiet = quiet or not processes.first
    keep_freed_memory()
    body, tokenizer = read_body(
        Path(settings.model), adaptation=settings.adaptation, from_scratch=settings.from_scratch, seed=settings.seed
    )
    declared = Declared(
        tasks=tuple(one.task for one in prepared),
        adaptation=settings.adaptation,
        length=settings.training.length,
        order=reading_order(body, tokenizer),
    )
    model = assemble(body, declared)
    model.initialise(settings.seed)
    for task in declared.tasks:
        task.begin(model.head(task.called))
    model = model.to(processes.device)
    tuned = TunedModel(model, tokenizer, declared)
    best = Best(tuned, prepared, settings, folder, write=processes.first)
    best.rehearse()
    model.train()
    made = [_questions(one, tuned) for one in prepared]
    mixture = Mixture(
        readers=tuple(_reader(questions, tuned, settings) for questions, _ in made),
        shares=tuple(len(one.train) ** _POWER for one in prepared),
        seed=settings.seed,
    )
    optimiser = make_optimiser(model, settings.training)
    if processes.first:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / DATA, _fingerprint(settings))
        save_settings(folder, settings)
        save_declaration(folder, declared, body, tokenizer)
    processes.wait()
    found = [] if fresh else checkpoints(folder)
    position = load_checkpoint(found[-1], model, optimiser) if found else Position(cursors=mixture.start())
    log = MetricsLog(folder, resumed_at=position.spent.steps, tensorboard=settings.tensorboard) if processes.first else None
    best.recall()
    with Progress(budget=settings.budget, entropy=0.0, trivial={}, quiet=quiet, start=position.spent) as progress:
        for line in _opening(settings, prepared, model, [notes for _, notes in made]):
            progress.say(line)
        loop = Loop(
            settings=settings, plan=_plan(settings, declared.tasks), model=model, wrapped=processes.wrap(model),
            optimiser=optimiser, mixture=mixture, measure=best.measure, enough=best.enough, publish=False,
            processes=processes, precision=choose_precision(settings.precision, processes.device), folder=folder, progress=progress, log=log,
        )  # fmt: skip
        outcome = loop.run(position)
    scores: dict[str, Any] = read_json(folder / BEST_SCORE, "the run keeps its best measurement there")
    if log is not None:
        log.close()
        publish_weights(folder / BEST, folder / WEIGHTS)
        write_card(
            folder, settings=settings, prepared=prepared, outcome=outcome, best=scores, curve=best.history,
            lost=[notes for _, notes in made], model=model,
        )  # fmt: skip
    processes.wait()
    return Tuned(folder=folder, outcome=outcome, scores=scores["scores"])


def _questions(one: Prepared, tuned: TunedModel) -> tuple[Questions, Counter[str]]:
    return one.task.questions(one.train, tuned.coder())


def _reader(questions: Questions, tuned: TunedModel, settings: TuneSettings) -> QuestionReader:
    rows = min(settings.training.batch, len(questions))
    return QuestionReader(questions=questions, rows=rows, seed=settings.seed, finish=lambda batch: tuned.finish(batch, questions))


def _plan(settings: TuneSettings, tasks: Sequence[Task]) -> Plan:
    return Plan(training=settings.training, weights=[{task.called: 1.0} for task in tasks], during=[(0.0, 1.0)] * len(tasks))


def _opening(settings: TuneSettings, prepared: Sequence[Prepared], model: torch.nn.Module, lost: Sequence[Counter[str]]) -> list[str]:
    learning = sum(p.numel() for p in model.parameters() if p.requires_grad)
    lines = [line for one in prepared for reading in one.readings for line in reading.lines()]
    lines += [note for one in prepared for note in one.notes]
    lines += [f"{one.task.called}: {n:,} {what}" for one, counts in zip(prepared, lost, strict=True) for what, n in counts.items() if n]
    scratch = ", from scratch" if settings.from_scratch else ""
    training = settings.training
    return [
        *lines,
        f"mode {settings.adaptation.mode}{scratch}: {learning:,} parameters learn; "
        f"{settings.budget}, batch {training.batch}, rate {training.peak:.2g}",
    ]
