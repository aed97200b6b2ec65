"""Folds: the examples held out in turn, so that all of them are answered by a model that has not seen them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import make_folder, write_text
from plume.readers.example import Example
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.task import Task


def folds_of(examples: Sequence[Example], folds: int, *, seed: int) -> list[list[int]]:
    """Which examples each fold holds out; every label stands in all of them as evenly as can be. What shares a text stays together: who has learned
    from one of them would have seen the other."""
    if not 2 <= folds <= len(examples):
        raise PlumeError(f"There are {len(examples)} examples: they can be held out in 2 to {len(examples)} folds, not in {folds}.")
    together: dict[str, list[int]] = {}
    for number in np.random.default_rng(seed).permutation(len(examples)).tolist():
        together.setdefault(examples[number].passage, []).append(number)
    if len(together) < folds:
        raise PlumeError(f"The {len(examples)} examples are about {len(together)} texts, which cannot be held out in {folds} folds.")
    counts = Counter(str(one.answer) for one in examples)

    def rarest(some: list[int]) -> str:
        return min((str(examples[number].answer) for number in some), key=lambda answer: (counts[answer], answer))

    found: list[list[int]] = [[] for _ in range(folds)]
    for place, some in enumerate(sorted(together.values(), key=rarest)):
        found[place % folds] += some
    return [sorted(one) for one in found]


def check_folds(examples: Sequence[Example], task: Task) -> None:
    """A label with one text is in no training set while that one is held out."""
    if not isinstance(task, LabelTask):
        return
    for label in task.labels:
        own = [one.passage for one in examples if one.answer == label]
        if len(set(own)) < 2:
            what = "one example" if len(own) == 1 else f"{len(own)} examples that share a text"
            raise PlumeError(f"The label '{label}' has {what}, which cannot be both held out and learned from: give two or more of each.")


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
