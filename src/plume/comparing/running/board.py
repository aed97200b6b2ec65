"""The board: a live table of models and tasks while a study runs, and what is left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.planning.plan import StudyPlan
from plume.comparing.results import Status
from plume.comparing.running.run import GridProgress
from plume.comparing.study import Study
from plume.train.progress import duration

_DOING = {
    CellKind.PRETRAIN: "pre-training", CellKind.DERIVE: "deriving", CellKind.TUNE: "tuning", CellKind.PROBE: "probing", CellKind.SPEED: "timing"
}  # fmt: skip
_MARKS = {Status.FAILED: "failed", Status.CANNOT: "cannot"}


class Board:
    """In a terminal a table that changes; elsewhere a line for every cell that ends."""

    def __init__(self, study: Study, entrants: Sequence[Entrant], metrics: dict[str, str], plan: StudyPlan | None, *, quiet: bool) -> None:
        self._study, self._entrants, self._metrics, self._plan = study, entrants, metrics, plan
        self._console = Console(stderr=True, quiet=quiet, highlight=False, markup=False)
        self._live = Live(console=self._console, refresh_per_second=2, transient=True) if self._console.is_terminal and not quiet else None
        self._said: set[str] | None = None
        self._began: dict[str, float] = {}

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, progress: GridProgress) -> None:
        """After every change."""
        now = time.monotonic()
        self._began = {cell.key: self._began.get(cell.key, now) for cell in progress.running}
        if self._live:
            self._live.update(Group(self._table(progress), Text(self._line(progress, now))))
            return
        if self._said is None:
            self._said = set(progress.states)  # of an earlier sitting
        for cell in progress.cells:
            if cell.key in progress.states and cell.key not in self._said:
                self._said.add(cell.key)
                self._console.print(f"{len(progress.states)}/{len(progress.cells)} {_said(cell, progress.states[cell.key], self._metrics)}")

    def _table(self, progress: GridProgress) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("model")
        table.add_column("pre-trained", justify="right")
        for task in self._study.tasks:
            table.add_column(f"{task.name} ({self._metrics[task.name]})", justify="right")
        for one in self._entrants:
            own = [cell for cell in progress.cells if cell.entrant == one.name]
            cells = [self._shown([cell for cell in own if cell.kind.makes], progress)]
            cells += [self._shown([cell for cell in own if cell.task == task.name], progress) for task in self._study.tasks]
            table.add_row(one.name, *cells)
        return table

    def _shown(self, cells: Sequence[Cell], progress: GridProgress) -> str:
        """The mean over the seeds that are done, and how many those are."""
        states = [progress.states[cell.key] for cell in cells if cell.key in progress.states]
        done = [state for state in states if state["status"] == Status.DONE]
        bad = next((_MARKS[Status(state["status"])] for state in states if state["status"] != Status.DONE), "")
        running = " …" if any(cell in progress.running for cell in cells) else ""
        if not done:
            return bad or running.strip() or "–"
        scores = [state["scores"][self._metrics[cells[0].task]] for state in done] if cells[0].task else []
        mean = f"{sum(scores) / len(scores):.3f} " if scores else ""
        return f"{mean}({len(done)}/{len(cells)}){running}{' ' + bad if bad else ''}"

    def _line(self, progress: GridProgress, now: float) -> str:
        doing = ", ".join(f"{_named(cell)} ({duration(now - self._began[cell.key])})" for cell in progress.running)
        return f"{len(progress.states)} of {len(progress.cells)} runs done{self._left(progress, now)}. Now: {doing}"

    def _left(self, progress: GridProgress, now: float) -> str:
        if self._plan is None:
            return ""
        begun = sum(min(now - begun, self._plan.seconds.get(key, 0.0)) for key, begun in self._began.items())
        left = self._plan.left(progress.states) - begun / self._plan.slots
        return f", about {duration(max(left, 0.0))} left"


def _named(cell: Cell) -> str:
    which = f"round {cell.seed + 1}" if cell.kind is CellKind.SPEED else f"seed {cell.seed}"
    return f"{_DOING[cell.kind]} {cell.entrant}{f' on {cell.task}' if cell.task else ''}, {which}"


def _said(cell: Cell, state: dict[str, Any], metrics: dict[str, str]) -> str:
    if state["status"] != Status.DONE:
        return f"{_named(cell)}: {state['status']}: {state['reason']}"
    took = duration(sum(state.get("seconds", {}).values()))
    score = f"{metrics[cell.task]} {state['scores'][metrics[cell.task]]:.4f}, " if cell.task else ""
    return f"{_named(cell)}: {score}{took}"
