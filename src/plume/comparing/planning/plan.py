"""The plan: what a study will run, for how long, with what memory and disk."""

from __future__ import annotations

import statistics
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.planning.rehearsal import Look, Rehearsal
from plume.comparing.study import Study, tune_options
from plume.train.budget import Budget
from plume.tuning.settings import epochs_for

ASK_ABOVE = 3600.0  # seconds
_WORDS_PER_SECOND = 100_000.0  # of word vectors, on a thread; rather too few
_SPEED_UNKNOWN = 20_000.0  # tokens a second, where nothing was rehearsed
_FLOPS_PER_SECOND = 3e10  # of a thread; rather too few. A token takes six for each parameter, forward and backward (arXiv:2001.08361 §2.1)
_CHARACTERS_PER_TOKEN = 3.0  # likewise
# Reading, measuring, saving, timing.
_FIXED = {CellKind.PRETRAIN: 2.0, CellKind.DERIVE: 2.0, CellKind.TUNE: 3.0, CellKind.PROBE: 5.0, CellKind.SPEED: 5.0}
_LEARNING, _ON_TOP = 3.0, 0.5  # passes that an example of training costs, in those of answering one; where only what is on top learns
_COPIES = {CellKind.PRETRAIN: 3, CellKind.DERIVE: 1, CellKind.TUNE: 4}  # weights and two moments; and the best weights


@dataclass(frozen=True, kw_only=True)
class Planned:
    """An entrant's share."""

    entrant: str
    parameters: int
    tokens_per_second: float
    seconds: float  # of all its cells
    memory: int
    disk: int
    cannot: dict[str, str]
    tuning: float = 0.0  # seconds, on all tasks with one seed
    mode: str = ""  # where it is not tuned in the usual way


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """What the whole study will take."""

    lines: tuple[Planned, ...]
    cells: int
    seconds: dict[str, float]  # by cell key, expected
    slots: int = 1  # cells at a time

    def left(self, ended: Container[str] = ()) -> float:
        """Seconds of wall time, without the cells that have ended."""
        return sum(seconds for key, seconds in self.seconds.items() if key not in ended) / self.slots

    @property
    def memory(self) -> int:
        """At a time, where the largest run beside each other."""
        return self.slots * max(line.memory for line in self.lines)

    @property
    def disk(self) -> int:
        """Bytes, of all that it leaves."""
        return sum(line.disk for line in self.lines)


def make_plan(
    study: Study, entrants: Sequence[Entrant], cells: Sequence[Cell], looks: Sequence[Look], rehearsals: Sequence[Rehearsal], *, slots: int
) -> StudyPlan:
    """From what the rehearsals took, and what there is to run."""
    rehearsed = {one.entrant: one for one in rehearsals}
    sizes = {look.name: look for look in looks}
    seconds: dict[str, float] = {}
    for cell in cells:
        found = rehearsed.get(cell.entrant, Rehearsal(entrant=cell.entrant))  # what an entrant is made of need not be one itself
        if "" in found.cannot or (cell.kind is CellKind.TUNE and cell.task in found.cannot):
            continue
        seconds[cell.key] = _FIXED[cell.kind] + _expected(study, cell, found, sizes) + _teaching(cell, rehearsed, sizes)
    lines = [_line(one, rehearsed[one.name], cells, seconds) for one in entrants]
    return StudyPlan(lines=tuple(lines), cells=len(seconds), seconds=seconds, slots=slots)


def _expected(study: Study, cell: Cell, found: Rehearsal, sizes: dict[str, Look]) -> float:
    if cell.kind is CellKind.PRETRAIN:
        return 0.0 if cell.line is not None and cell.line.from_scratch else _pretraining(study.budget, found)
    if cell.kind is not CellKind.TUNE or (cell.line is not None and not cell.line.learns):
        return 0.0
    return tuning_seconds(study, sizes[cell.task], found, mode="" if cell.line is None else cell.line.mode)


def _teaching(cell: Cell, rehearsed: Mapping[str, Rehearsal], sizes: Mapping[str, Look]) -> float:
    """A teacher answers every training example once."""
    teacher = rehearsed.get(cell.line.taught_by) if cell.line is not None and cell.kind is CellKind.TUNE else None
    return 0.0 if teacher is None else teacher.answering.get(cell.task, 0.0) * sizes[cell.task].train


def tuning_seconds(study: Study, look: Look, found: Rehearsal, *, mode: str = "") -> float:
    """Of an entrant on a task, with one seed. A mode of its own is a frozen one: the network reads each text once."""
    options = tune_options(study.tune)
    if (budget := options.get("budget")) is not None and Budget.parse(budget).unit == "seconds":
        return Budget.parse(budget).amount
    epochs = options.get("epochs", epochs_for(look.train))
    if (each := found.answering.get(look.name)) is not None:
        passes = _ON_TOP if mode or found.frozen else _LEARNING
        return each * (passes * look.train * epochs + look.train + look.scored)  # a tenth is held out, and measured ten times at most
    # Scoring on dev and on the scored file costs about a third of a training pass, ten times a run at most.
    tokens = found.tokens.get(look.name, look.characters / _CHARACTERS_PER_TOKEN)
    return tokens * (look.train * epochs + look.scored * 4) / _speed(found)


def budget_seconds(budget: Budget, rehearsals: Sequence[Rehearsal]) -> float:
    """What the budget takes on this machine, of the entrant in the middle: one that is slow for its tokens or FLOPs says nothing of the others."""
    taken = [_pretraining(budget, one) for one in rehearsals if one.step is not None]
    return statistics.median(taken or [_pretraining(budget, Rehearsal(entrant=""))])


def _pretraining(budget: Budget, found: Rehearsal) -> float:
    if budget.unit == "seconds":
        return budget.amount
    if found.step is None:
        return budget.amount / _WORDS_PER_SECOND if budget.unit == "tokens" else 30.0
    return budget.amount / max(float(getattr(found.step, budget.unit)), 1e-9) * found.step.seconds


def _speed(found: Rehearsal) -> float:
    """Tokens a second; of a network of which no step was timed, by its size."""
    if found.step is not None:
        return found.step.tokens / max(found.step.seconds, 1e-9)
    return min(_SPEED_UNKNOWN, _FLOPS_PER_SECOND / (6 * found.parameters)) if found.parameters else _SPEED_UNKNOWN


def _line(entrant: Entrant, found: Rehearsal, cells: Sequence[Cell], seconds: dict[str, float]) -> Planned:
    own = [cell for cell in cells if cell.entrant == entrant.name and cell.key in seconds]
    return Planned(
        entrant=entrant.name,
        parameters=found.parameters,
        tokens_per_second=_speed(found) if found.step else 0.0,
        seconds=sum(seconds[cell.key] for cell in own),
        memory=found.memory,
        disk=sum(4 * found.parameters * _COPIES.get(cell.kind, 0) for cell in own),
        cannot=found.cannot,
        tuning=sum(seconds[cell.key] for cell in own if cell.kind is CellKind.TUNE and cell.seed == 0),
        mode=entrant.mode,
    )
