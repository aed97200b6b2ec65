"""From what a user writes, on the command line or in Python, to a tuning run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from torch import nn

from plume.core import catalog
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.nn.pooling import Pooling, pooling_of
from plume.train.budget import Budget
from plume.train.device import Precision
from plume.tuning.adapting.adaptation import Adaptation, way
from plume.tuning.linear.learning import start_linear
from plume.tuning.linear.recipe import TFIDF, TITLE
from plume.tuning.settings import TaskData, Wishes
from plume.tuning.task import Columns, DirectTask, RunTask, Task
from plume.tuning.tune import Tuned, start

Paths = str | Path | Sequence[str | Path] | None
LONG = ("windows", "recall")  # how texts are read that do not fit into a row
_LEAST = {"accumulate": 1, "batch": 1, "patience": 1}
_ABOVE = {"epochs": 0, "rate": 0}
ONE_TOKEN = "cls"  # for --pooling: none, but the state of the token that the family has for it
_LINEAR = ("metric", "seed")  # what a linear model of terms takes
_MODULES = nn.ModuleDict()  # heads are kept in one, under their tasks' names: what it has itself, such as "keys", is taken


def named(kind: str) -> Task:
    """The task that a user named: its file's declaration."""
    task: Task | DirectTask | RunTask = catalog.load("tasks", kind.replace("_", "-")).TASK
    if isinstance(task, DirectTask):
        raise PlumeError(f"{kind} needs no tuning: plume predict MODEL --task {kind}, plume eval MODEL --task {kind} --data FILE.")
    if isinstance(task, RunTask):
        raise PlumeError(f"{kind} is trained by itself: plume tune MODEL --task {kind} --train FILE --documents FILE --out DIRECTORY.")
    return task


def start_from_options(
    model: Path,
    *,
    task: str | Sequence[str],
    train: Paths = None,
    dev: Paths = None,
    out: Path,
    mode: str | None = None,
    pooling: Pooling | str | None = None,
    adapt: Sequence[str] = (),
    overrides: Sequence[str] = (),
    task_options: Sequence[str] = (),
    crf: bool | None = None,
    long: str | None = None,
    text: str | Sequence[str] = (),
    label: str | None = None,
    kb: str | Path | None = None,
    documents: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> Tuned:
    """`adapt`, `overrides` and `task_options` are settings by dotted path, of the adaptation, the training and the task.

    `pooling` is a word (mean, first …; cls: the family's own token, however few the examples), or a `Pooling`.
    `long` is `windows` or `recall`. The model `tfidf` is no directory: it is made of the training examples alone.

    Of several tasks a setting is for those that have it, or for the one that is named: `ner.crf=true`.
    """
    check_numbers(options)
    if options.get("answer") not in (None, "text", "head"):
        raise PlumeError(f"--answer is text or head, not '{options['answer']}'.")
    asked = None if mode is None else way(mode)
    one_token = pooling == ONE_TOKEN
    pooled = None if pooling is None or one_token else pooling_of(pooling)

    def adapted(usual: Adaptation) -> Adaptation:
        return replace(asked or usual, pooling=pooled).adjusted(adapt)

    data = _data(task, train, dev)
    if len(data) > 1 and (text or label is not None):
        raise PlumeError("--text and --label name columns of one task's files: give the files of several tasks headers that plume knows.")
    data = data if kb is None else _with_kb(data, Path(kb))
    data = data if documents is None else _with_documents(data, Path(documents))
    if long is not None:
        if long not in LONG:
            raise PlumeError(f"--long is {' or '.join(LONG)}, not '{long}'.")
        data = [replace(one, task=one.task.for_long_texts(long)) for one in data]
    for assignment in [*([] if crf is None else [f"crf={crf}".lower()]), *task_options]:
        data = _with(data, assignment)
    columns = Columns(texts=(text,) if isinstance(text, str) else tuple(text), answer=label)
    if str(model) == TFIDF and not model.exists():
        _refuse_steps({"mode": mode, "pooling": pooling, "adapt": adapt, "set": overrides} | options)
        return start_linear(data, out, columns=columns, **{name: options[name] for name in _LINEAR if options.get(name) is not None})
    options = parsed(options)
    wishes = Wishes(**{field.name: options.pop(field.name) for field in fields(Wishes) if field.name in options})
    return start(
        model, data, out, adapt=adapted, wishes=wishes, columns=columns, overrides=overrides, one_token=one_token, quiet=quiet,
        **{name: value for name, value in options.items() if value is not None},
    )  # fmt: skip


def _with_documents(data: list[TaskData], file: Path) -> list[TaskData]:
    if not any(hasattr(one.task, "documents") for one in data):
        raise PlumeError(f"--documents are what retrieval, rag and multihop read; {data[0].task.called} does not: leave it out.")
    return [replace(one, task=replace(one.task, documents=str(file.absolute()))) if hasattr(one.task, "documents") else one for one in data]


def _with_kb(data: list[TaskData], kb: Path) -> list[TaskData]:
    """For the tasks that look something up there."""
    if not any(hasattr(one.task, "kb") for one in data):
        raise PlumeError(f"--kb is for tasks that look something up, such as kbqa; {data[0].task.called} does not.")
    return [replace(one, task=replace(one.task, kb=str(kb.absolute()))) if hasattr(one.task, "kb") else one for one in data]


def _refuse_steps(options: dict[str, Any]) -> None:
    """Settings of what is trained step by step mean nothing to what is solved."""
    for name, value in options.items():
        if name not in _LINEAR and value is not None and value != () and value != []:
            option = name.replace("_", "-")
            raise PlumeError(f"--{option} is for models that learn step by step; {TITLE} is solved at once: leave it out.")


def parsed(options: dict[str, Any]) -> dict[str, Any]:
    """With the precision and the time between checkpoints, which users write as words, as what they are."""
    precision, save_every = options.get("precision"), options.get("save_every")
    if precision is not None and precision not in list(Precision):
        raise PlumeError(f"There is no precision '{precision}': choose {', '.join(Precision)}.")
    made = {
        "precision": None if precision is None else Precision(precision),
        "save_every": None if save_every is None else Budget.parse(save_every),
    }
    return options | {name: value for name, value in made.items() if value is not None}


def check_numbers(options: dict[str, Any]) -> None:
    """Raise for numbers that no run can have."""
    for name, least in _LEAST.items():
        if options.get(name) is not None and not options[name] >= least:
            raise PlumeError(f"--{name} is at least {least}, not {options[name]}.")
    for name, above in _ABOVE.items():
        if options.get(name) is not None and not options[name] > above:
            raise PlumeError(f"--{name} is more than {above}, not {options[name]}.")


def _with(data: list[TaskData], assignment: str) -> list[TaskData]:
    """One task is set as it is; of several the one that is named, or all that have the field."""
    path = assignment.partition("=")[0].strip()
    name, _, field = path.partition(".")
    meant = [one for one in data if one.task.called == name] if field and len(data) > 1 else []
    if meant:
        assignment = assignment.strip().removeprefix(f"{name}.")
    elif len(data) == 1:
        meant = data
    else:
        meant = [one for one in data if name in (known.name for known in fields(one.task))]
    if not meant:
        tasks = ", ".join(one.task.called for one in data)
        raise PlumeError(f"'{assignment}' is a setting of none of the tasks {tasks}: write TASK.field=value for one of them.")
    return [replace(one, task=one.task.override(assignment)) if one in meant else one for one in data]


def _data(task: str | Sequence[str], train: Paths, dev: Paths) -> list[TaskData]:
    """One task with --train and --dev, or several that bring their files: `ner=train.conll,dev.conll`, `topic:classification=a.tsv,b.tsv`."""
    asked = [task] if isinstance(task, str) else list(task)
    if len(asked) == 1 and "=" not in asked[0]:
        if train is None:
            raise PlumeError("Training data is needed: --train FILE (and --dev FILE to evaluate on).")
        return [TaskData(task=named(asked[0]), train=_listed(train), dev=_listed(dev))]
    if train is not None or dev is not None:
        raise PlumeError("Several tasks bring their own files: --task ner=train.conll,dev.conll --task classification=train.tsv,dev.tsv")
    made = [_one(text) for text in asked]
    ((most, times),) = Counter(one.task.called for one in made).most_common(1)
    if times > 1:
        kind = next(one.task.kind for one in made if one.task.called == most)
        raise PlumeError(f"{times} tasks are called {most}: name them: --task one:{kind}=… --task two:{kind}=…")
    return made


def _one(text: str) -> TaskData:
    what, equals, files = text.partition("=")
    name, _, kind = what.rpartition(":")
    paths = [path for path in files.split(",") if path]
    if not equals or not 1 <= len(paths) <= 2:
        raise PlumeError(f"'{text}' is no task with files: write ner=train.conll,dev.conll or topic:classification=train.tsv,dev.tsv.")
    if name and not re.fullmatch(r"[\w-]+", name):
        raise PlumeError(f"A task cannot be called '{name}': use letters, digits, _ and -, as in topic:classification=train.tsv,dev.tsv.")
    if name and hasattr(_MODULES, name):
        raise PlumeError(f"A task cannot be called '{name}', which is a word of plume's own: choose another name.")
    return TaskData(task=replace(named(kind), name=name), train=(paths[0],), dev=tuple(paths[1:]))


def _listed(paths: Paths) -> tuple[str, ...]:
    if paths is None:
        return ()
    return (str(paths),) if isinstance(paths, str | Path) else tuple(str(path) for path in paths)
