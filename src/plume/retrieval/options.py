"""From what a user writes, on the command line or in Python, to a run that trains a bi-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.nn.pooling import Pooling, pooling_of
from plume.retrieval import training
from plume.retrieval.settings import RetrievalData
from plume.sentences.training import Trained
from plume.tasks.retrieval import TASK
from plume.tuning.options import ONE_TOKEN, Paths, check_numbers, parsed
from plume.tuning.settings import Wishes

KNOWN = ("budget", "seed", "precision", "device", "save_every", "tensorboard", "patience", "dropout", "measurements")


def listed(paths: Paths) -> tuple[str, ...]:
    """One path, several, or none."""
    if paths is None:
        return ()
    return (str(paths),) if isinstance(paths, str | Path) else tuple(str(path) for path in paths)


def refuse_unknown(options: dict[str, Any], known: Sequence[str], kind: str) -> None:
    """What other tasks have and this one has not."""
    for name, value in options.items():
        if name not in known and value not in (None, (), [], False):
            raise PlumeError(f"--task {kind} has no use for --{name.replace('_', '-')}: leave it out.")


def start_retrieval(
    model: Path,
    *,
    train: Paths,
    out: Path,
    dev: Paths = None,
    documents: Paths = None,
    pooling: Pooling | str | None = None,
    task_options: Sequence[str] = (),
    overrides: Sequence[str] = (),
    accumulate: int | None = None,
    quiet: bool = False,
    **options: Any,
) -> Trained:
    """`task_options` are settings of `Retrieval`, `overrides` of the training; the others those of `plume tune`."""
    check_numbers(options | {"accumulate": accumulate})
    options = parsed(options)
    wishes = Wishes(**{field.name: options.pop(field.name) for field in fields(Wishes) if field.name in options})
    refuse_unknown(options, KNOWN, TASK.kind)
    if not listed(train):
        raise PlumeError("Questions with their passages are needed: --train FILE (see 'plume tasks retrieval').")
    task = TASK
    for assignment in task_options:
        task = task.override(assignment)
    return training.start(
        model, out, task=task, data=RetrievalData(train=listed(train), dev=listed(dev), documents=listed(documents)), wishes=wishes,
        pooling=None if pooling is None else pooling_of("first" if pooling == ONE_TOKEN else pooling), overrides=overrides,
        parts=accumulate or 1, quiet=quiet, **{name: value for name, value in options.items() if value is not None},
    )  # fmt: skip
