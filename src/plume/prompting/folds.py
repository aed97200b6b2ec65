"""Folds: the examples held out in turn, so that all of them are answered by a model that has not seen them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import make_folder, write_text
from plume.readers.example import Example
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.task import Task


def folds_of(examples: Sequence[Example], folds: int, *, seed: int) -> list[list[int]]:
    """Which examples each fold holds out; every label stands in all of them as evenly as can be."""
    if not 2 <= folds <= len(examples):
        raise PlumeError(f"There are {len(examples)} examples: they can be held out in 2 to {len(examples)} folds, not in {folds}.")
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    order.sort(key=lambda number: str(examples[number].answer))
    found: list[list[int]] = [[] for _ in range(folds)]
    for place, number in enumerate(order):
        found[place % folds].append(number)
    return [sorted(one) for one in found]


def check_folds(examples: Sequence[Example], task: Task) -> None:
    """A label with one example is in no training set while that one is held out."""
    if not isinstance(task, LabelTask):
        return
    for label in task.labels:
        if sum(one.answer == label for one in examples) < 2:
            raise PlumeError(
                f"The label '{label}' has one example, which cannot be both held out and learned from: give two or more of each."
            )


def write_rows(path: Path, examples: Sequence[Example]) -> None:
    """As JSONL that every task of labels or choices reads."""
    make_folder(path.parent)
    write_text(path, "".join(json.dumps(example_row(one), ensure_ascii=False) + "\n" for one in examples))


def example_row(example: Example) -> dict[str, object]:
    """As every task of labels or choices reads it."""
    if isinstance(example.answer, int):
        return {"context": example.texts[0], "choices": list(example.texts[1:]), "answer": example.answer}
    names = ("text",) if len(example.texts) == 1 else ("text_a", "text_b")
    return dict(zip(names, example.texts, strict=True)) | {"label": example.answer}
