"""From what a user writes, on the command line or in Python, to a tuning run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from plume.core import catalog
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.train.budget import Budget
from plume.train.device import Precision
from plume.tuning.adaptation import Adaptation, Mode
from plume.tuning.settings import TaskData, Wishes
from plume.tuning.task import Columns, DirectTask, Task
from plume.tuning.tune import Tuned, start

Paths = str | Path | Sequence[str | Path] | None


def named(kind: str) -> Task:
    """The task that a user named: its file's declaration."""
    task: Task | DirectTask = catalog.load("tasks", kind.replace("_", "-")).TASK
    if isinstance(task, DirectTask):
        raise PlumeError(f"{kind} needs no tuning: plume predict MODEL --task {kind}, plume eval MODEL --task {kind} --data FILE.")
    return task


def start_from_options(
    model: Path,
    *,
    task: str | Sequence[str],
    train: Paths = None,
    dev: Paths = None,
    out: Path,
    mode: str | None = None,
    adapt: Sequence[str] = (),
    overrides: Sequence[str] = (),
    task_options: Sequence[str] = (),
    text: str | Sequence[str] = (),
    label: str | None = None,
    quiet: bool = False,
    **options: Any,
) -> Tuned:
    """`adapt`, `overrides` and `task_options` are settings by dotted path, of the adaptation, the training and the task."""
    if options.get("answer") not in (None, "text", "head"):
        raise PlumeError(f"--answer is text or head, not '{options['answer']}'.")
    if mode is not None and mode not in list(Mode):
        raise PlumeError(f"There is no mode '{mode}': choose {', '.join(Mode)}.")

    def adapted(usual: Mode) -> Adaptation:
        made = Adaptation(mode=usual if mode is None else Mode(mode))
        for assignment in adapt:
            made = made.override(assignment)
        return made

    data = [_with(one, task_options) for one in _data(task, train, dev)]
    if (precision := options.get("precision")) is not None:
        if precision not in list(Precision):
            raise PlumeError(f"There is no precision '{precision}': choose {', '.join(Precision)}.")
        options["precision"] = Precision(precision)
    if options.get("save_every") is not None:
        options["save_every"] = Budget.parse(options["save_every"])
    wishes = Wishes(**{field.name: options.pop(field.name) for field in fields(Wishes) if field.name in options})
    columns = Columns(texts=(text,) if isinstance(text, str) else tuple(text), answer=label)
    return start(
        model, data, out, adapt=adapted, wishes=wishes, columns=columns, overrides=overrides, quiet=quiet,
        **{name: value for name, value in options.items() if value is not None},
    )  # fmt: skip


def _with(data: TaskData, assignments: Sequence[str]) -> TaskData:
    task = data.task
    for assignment in assignments:
        task = task.override(assignment)
    return replace(data, task=task)


def _data(task: str | Sequence[str], train: Paths, dev: Paths) -> list[TaskData]:
    """One task with --train and --dev, or several that bring their files: `ner=train.conll,dev.conll`, `topic:classification=a.tsv,b.tsv`."""
    asked = [task] if isinstance(task, str) else list(task)
    if len(asked) == 1 and "=" not in asked[0]:
        if train is None:
            raise PlumeError("Say what to learn from: --train FILE (and --dev FILE to measure on).")
        return [TaskData(task=named(asked[0]), train=_listed(train), dev=_listed(dev))]
    if train is not None or dev is not None:
        raise PlumeError("Several tasks bring their own files: --task ner=train.conll,dev.conll --task classification=train.tsv,dev.tsv")
    return [_one(text) for text in asked]


def _one(text: str) -> TaskData:
    what, equals, files = text.partition("=")
    name, _, kind = what.rpartition(":")
    paths = [path for path in files.split(",") if path]
    if not equals or not 1 <= len(paths) <= 2:
        raise PlumeError(f"'{text}' is no task with files: write ner=train.conll,dev.conll or topic:classification=train.tsv,dev.tsv.")
    return TaskData(task=replace(named(kind), name=name), train=(paths[0],), dev=tuple(paths[1:]))


def _listed(paths: Paths) -> tuple[str, ...]:
    if paths is None:
        return ()
    return (str(paths),) if isinstance(paths, str | Path) else tuple(str(path) for path in paths)
