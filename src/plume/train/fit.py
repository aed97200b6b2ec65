"""One run, whatever is trained: pre-training, fine-tuning, and every other `Trainable` on every mixture of batches.

It sets up the network on its device or devices, the optimizer, the checkpoint, the log and the progress bar, takes up a run that was
stopped, and drives the one loop. What a run reads and what it writes beside its weights is the caller's business.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.core.files import make_folder, read_json, write_json
from plume.data.loader import Mixture
from plume.model.trainable import Trainable
from plume.nn.stack import Stack
from plume.train.allocator import keep_freed_memory
from plume.train.budget import Spent
from plume.train.checkpoint import Position, checkpoints, load_checkpoint, save_checkpoint
from plume.train.device import choose_device, choose_precision
from plume.train.distributed import Processes
from plume.train.loop import Loop, Outcome, TrainingPlan
from plume.train.metrics import MetricsLog
from plume.train.optimizer import make_optimizer
from plume.train.progress import HELD_OUT, Progress
from plume.train.settings import RunSettings, save_settings

DATA = Path("train") / "data.json"  # fingerprints: a run must go on with the data it began with


def begin(settings: RunSettings) -> Processes:
    """This process among those of the run, on its device. The first thing a run does."""
    keep_freed_memory()
    return Processes(choose_device(settings.device))


def refuse_other_data(folder: Path, fingerprint: Mapping[str, Any], otherwise: str) -> None:
    """A run that goes on must read what it began with; `otherwise` says what to do if it does not."""
    if (folder / DATA).exists() and read_json(folder / DATA, "what the run was fed") != fingerprint:
        raise PlumeError(otherwise)


def fit(
    model: Trainable,
    mixture: Mixture[Any],
    *,
    plan: TrainingPlan,
    settings: RunSettings,
    folder: Path,
    processes: Processes,
    fingerprint: Mapping[str, Any],
    write: Callable[[], None],
    measure: Callable[[Spent], dict[str, float]],
    enough: Callable[[], bool] = lambda: False,
    opening: Sequence[str] = (),
    entropy: float = 0.0,
    trivial: Mapping[str, float] = {},
    publish: bool = True,
    some_unused: bool = False,
    spent: Spent = Spent(),
    fresh: bool = True,
    quiet: bool = False,
    measured_on: str = HELD_OUT,
) -> Outcome:
    """Train `model` on `mixture` until the budget is spent, `enough` says so, or a signal comes; all processes call it.

    `write` writes, once, what makes the folder a model beside its weights. `measure` takes the held-out figures, or those of what else they are
    `measured_on`. With `publish` the weights of each checkpoint are the run's, from the first on; without it the caller publishes those it likes
    best. `entropy` and `trivial` are what the losses are held against, where there is something. `some_unused`: a batch may leave out some
    parameters. `spent` is what a run without a checkpoint has used already.
    """
    quiet = quiet or not processes.first
    stacks = [part for part in model.modules() if isinstance(part, Stack)]
    for stack in stacks:
        stack.checkpointing = settings.recompute
    drops = any(stack.part.layer_drop for stack in stacks)
    wrapped = processes.wrap(model, shard=settings.shard, some_unused=some_unused or drops)
    optimizer = make_optimizer(model, plan.training)  # of the parameters as the processes share them
    if processes.first:
        make_folder(folder)
        write_json(folder / DATA, dict(fingerprint))
        save_settings(folder, settings)
        write()
        for unfinished in folder.glob("train/.checkpoint-*.tmp"):  # of a save that was killed
            shutil.rmtree(unfinished, ignore_errors=True)
    processes.wait()
    found = [] if fresh else checkpoints(folder)
    position = load_checkpoint(found[-1], model, optimizer) if found else Position(spent=spent, cursors=mixture.start())
    if publish and not found:
        save_checkpoint(folder, model, optimizer, position, write=processes.first)
    log = MetricsLog(folder, resumed_at=position.spent.steps, tensorboard=settings.tensorboard) if processes.first else None
    with Progress(
        budget=settings.budget, entropy=entropy, trivial=dict(trivial), quiet=quiet, start=position.spent, on=measured_on
    ) as progress:
        for line in opening:
            progress.say(line)
        loop = Loop(
            settings=settings, plan=plan, model=model, wrapped=wrapped, optimizer=optimizer, mixture=mixture, measure=measure, enough=enough,
            processes=processes, precision=choose_precision(settings.precision, processes.device), folder=folder, progress=progress, log=log,
            publish=publish,
        )  # fmt: skip
        outcome = loop.run(position)
    if log is not None:
        log.close()
    return outcome
