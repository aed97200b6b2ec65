"""What a model directory is worth and what it costs: its score on dev, its parameters and bytes, how fast it answers on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from plume.compressing.lineage import Figures, TimedOn
from plume.core.errors import PlumeError
from plume.core.machine import instructions, processor
from plume.core.timing import PredictionSpeed, Timed, measure_side_by_side
from plume.model.checkpoint import WEIGHTS, state_of
from plume.model.use.runtimes._preferred import preferred_runtime
from plume.model.use.runtimes._samples import TEXTS
from plume.sentences.dev import spearman
from plume.static.model import WordModel
from plume.tuning.loaded import Loaded, load
from plume.tuning.preparing import PreparedTask, prepare
from plume.tuning.settings import TaskData
from plume.tuning.speed import answering
from plume.tuning.tuned import TunedModel

SECONDS = 2.0  # of timing, a model
_MEMORY = 2 << 30  # bytes of weights that are held at a time


@dataclass(frozen=True, kw_only=True)
class Measurable:
    """A model directory, loaded, and the rows of each of its tasks that it is measured on."""

    folder: Path
    model: Loaded
    rows: tuple[PreparedTask, ...]
    pairs: tuple[str, ...] = ()  # files of scored pairs, for its sentence vectors


def figures_of(folder: Path, data: Sequence[TaskData] = (), *, split: int = 0) -> Figures:
    """Of a model directory; scores are those of the dev rows of `data`, or of the tenth that tuning would hold out."""
    return _figures(_measurable(folder, data, split))


def figures_side_by_side(
    folders: Sequence[Path], data: Sequence[TaskData] = (), *, split: int = 0, pairs: Sequence[str] = (), seconds: float = SECONDS
) -> list[Figures]:
    """Of several, with their speeds, for which they take turns; so many seconds each, 0: not timed. What cannot be timed has no speed."""
    opened = [replace(_measurable(folder, data, split), pairs=tuple(pairs)) for folder in folders]
    speeds = _speeds(opened, seconds) if seconds > 0 else [None] * len(opened)
    return [replace(_figures(one), speed=speed) for one, speed in zip(opened, speeds, strict=True)]


def speeds_in_groups(
    folders: Sequence[Path], data: Sequence[TaskData] = (), *, split: int = 0, seconds: float = SECONDS
) -> list[PredictionSpeed | None]:
    """Of many models, the first of which is the baseline: as many side by side as fit in memory, the baseline among them each time.

    The machine may be busier with one group than with another: by what it did to the baseline, the others' speeds are set right.
    """
    baseline, *others = folders
    found: dict[Path, PredictionSpeed | None] = {}
    reference: PredictionSpeed | None = None
    for group in _groups(others):
        own, *speeds = _speeds([_measurable(folder, data, split) for folder in (baseline, *group)], seconds)
        reference = reference or own
        found |= {folder: _as_if(speed, own, reference) for folder, speed in zip(group, speeds, strict=True)}
    return [reference, *(found[folder] for folder in others)]


def _groups(folders: Sequence[Path]) -> list[list[Path]]:
    made: list[list[Path]] = [[]]
    room = _MEMORY
    for folder in folders:
        room -= (folder / WEIGHTS).stat().st_size
        if room < 0 and made[-1]:
            made.append([])
            room = _MEMORY
        made[-1].append(folder)
    return made


def _as_if(speed: PredictionSpeed | None, own: PredictionSpeed | None, reference: PredictionSpeed | None) -> PredictionSpeed | None:
    """A speed as if the baseline had been as fast beside it as it was at first."""
    if speed is None or own is None or reference is None:
        return speed
    slower = reference.p50 / own.p50
    rate = reference.per_second / own.per_second
    return PredictionSpeed(per_second=speed.per_second * rate, p50=speed.p50 * slower, p99=speed.p99 * slower)


def _speeds(opened: Sequence[Measurable], seconds: float) -> Sequence[PredictionSpeed | None]:
    try:
        return measure_side_by_side([_answering(one) for one in opened], seconds=seconds)
    except PlumeError:  # a model that answers questions of a kind that it is not known how to ask
        return [None] * len(opened)


def agreement(one: Path, other: Path) -> float | None:
    """Mean cosine of two models' vectors of texts of all sorts; None where their vectors are not of one kind."""
    first, second = (load(folder).embed(list(TEXTS)) for folder in (one, other))
    if first.shape != second.shape:
        return None
    length = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return float(((first * second).sum(1) / np.maximum(length, 1e-12)).mean())


def timed_on() -> TimedOn:
    """This machine."""
    return TimedOn(processor=processor(), instructions=instructions(), threads=torch.get_num_threads())


def _measurable(folder: Path, data: Sequence[TaskData], split: int) -> Measurable:
    model = load(folder)
    rows = tuple(prepare(one, known=True, seed=split) for one in data) if isinstance(model, TunedModel) else ()
    return Measurable(folder=folder, model=model, rows=rows)


def _figures(of: Measurable) -> Figures:
    runtime = preferred_runtime(of.folder)
    size = (of.folder / WEIGHTS).stat().st_size
    return Figures(parameters=_parameters(of.model), bytes=size, scores=_scores(of) | _spearman(of), runtime=runtime)


def _parameters(model: Loaded) -> int:
    if isinstance(model, WordModel):
        return int(model.vectors.matrix.size)
    network: nn.Module = model.model
    return sum(value.numel() for value in state_of(network).values())


def _scores(of: Measurable) -> dict[str, float]:
    if not isinstance(of.model, TunedModel):
        return {}
    found = {}
    for read in of.rows:
        own = [task for task in of.model.tasks if task.kind == read.task.kind and task.labels == read.task.labels]
        if own and read.held_out:
            task = next((task for task in own if task.called == read.task.called), own[0])
            found[f"{read.task.called}.{task.metric}"] = of.model.measure(task, read.dev, read.readings[-1]).scores[task.metric]
    return found


def _answering(of: Measurable) -> Timed:
    """A tuned model answers the rows that it is measured on, or texts of all sorts; others embed these."""
    model = of.model
    if not isinstance(model, TunedModel):
        return Timed(answer=model.embed, items=TEXTS)
    if of.rows:
        return answering(model, model.task(of.rows[0].task.called), of.rows[0].dev or of.rows[0].train)
    task = model.tasks[0]
    return answering(model, task, [task.example(text) for text in TEXTS])


def _spearman(of: Measurable) -> dict[str, float]:
    return {"vectors.spearman": spearman(of.model, of.pairs)} if of.pairs else {}
