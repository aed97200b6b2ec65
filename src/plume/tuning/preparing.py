"""A task's files, read: what is learned from, and what is measured on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.readers.example import Example, Reading
from plume.tuning.rows.spoken import with_language
from plume.tuning.settings import TaskData
from plume.tuning.task import Columns, Task

_HELD_OUT = 1000  # examples at most, where no dev file is given
FEW = 200  # training examples: of fewer a tenth tells no two checkpoints apart, and is worth more as training


@dataclass(frozen=True, kw_only=True)
class PreparedTask:
    """One task's examples, read and laid out."""

    task: Task
    train: list[Example]
    dev: list[Example]
    readings: list[Reading]
    notes: list[str]
    dev_file: Path
    held_out: bool = True  # was nothing of dev trained on?


def prepare(
    data: TaskData, columns: Columns = Columns(), *, seed: int = 0, known: bool = False, language: str | None = None
) -> PreparedTask:
    """Read a task's files; its labels and the files' layout are learned on the way, unless they are `known` from a run before.

    `language` is that of all texts, if it was said.
    """
    train_paths, dev_paths = [Path(path) for path in data.train], [Path(path) for path in data.dev]
    task = data.task if known else data.task.fitted(train_paths, columns)
    reading = Reading(file=train_paths[0])
    train = _read(task, train_paths, reading, language)
    readings, notes, held_out = [reading], [], True
    task = task if known else task.learned(train)
    if dev_paths:
        readings.append(Reading(file=dev_paths[0]))
        dev = _read(task, dev_paths, readings[-1], language)
        task.check(dev, dev_paths[0])
    elif held_out := len(train) >= FEW:
        train, dev = _split(train, seed)
        notes.append(
            f"{task.called}: no dev file was given, so {len(dev):,} of the {len(train) + len(dev):,} examples are held out for it."
        )
    else:
        dev = train
        notes.append(
            f"{task.called}: no dev file was given, and {len(train):,} examples are too few to hold any out: all are trained on, the last weights "
            "are kept, and scores are on the training examples themselves."
        )
    if note := task.balance(train):
        notes.append(note)
    if held_out:
        notes += task.yardsticks(train, dev)
    return PreparedTask(
        task=task, train=train, dev=dev, readings=readings, notes=notes, dev_file=(dev_paths or train_paths)[0], held_out=held_out
    )


def _read(task: Task, paths: list[Path], reading: Reading, language: str | None) -> list[Example]:
    examples = list(with_language(task.read(paths, reading, labelled=True), language))
    if not examples:
        raise PlumeError(f"{paths[0]} has no usable example: {' '.join(reading.lines()[1:]) or 'it is empty.'}")
    return examples


def _split(examples: list[Example], seed: int) -> tuple[list[Example], list[Example]]:
    """About a tenth apart; what shares a text, such as the questions about one passage, stays on one side."""
    passage = [example.passage for example in examples]
    count = min(max(len(examples) // 10, 1), _HELD_OUT)
    held_out: set[str] = set()
    sizes = Counter(passage)
    for number in np.random.default_rng(seed).permutation(len(examples)).tolist():
        if sum(sizes[text] for text in held_out) >= count:
            break
        held_out.add(passage[number])
    train = [example for example, text in zip(examples, passage, strict=True) if text not in held_out]
    if not train:
        raise PlumeError("All examples are about one text, which cannot be both trained on and measured on: give a --dev file.")
    return train, [example for example, text in zip(examples, passage, strict=True) if text in held_out]
