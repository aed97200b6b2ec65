"""A study from beginning to end: looked at, rehearsed, run, and its results gathered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from plume.comparing.cells import Cell
from plume.comparing.collect import collect
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.entrants.lineup import entrants
from plume.comparing.planning.again import cells_again, throw_away
from plume.comparing.planning.grid import grid
from plume.comparing.planning.modes import TuningModes, choose_modes, read_modes
from plume.comparing.planning.plan import StudyPlan, make_plan
from plume.comparing.planning.rehearsal import Look, Rehearsal, look_at_tasks, refuse_small_budget, rehearse_all
from plume.comparing.results import Results, Status
from plume.comparing.running.board import Board
from plume.comparing.running.engine import Engine
from plume.comparing.running.engines import make_engine
from plume.comparing.running.run import Clock, check_files, check_folder, claim_folder, locked, mark_cannot, read_states, run_cells
from plume.comparing.running.work import STUDY, read_study
from plume.comparing.study import Study
from plume.comparing.study_file import write_study_file
from plume.core.files import write_text
from plume.core.machine import runs_at_once
from plume.core.part import replace

STUDY_FILE = "study.toml"


@dataclass(frozen=True, kw_only=True)
class PreparedStudy:
    """Everything known before the first run."""

    study: Study
    entrants: list[Entrant]
    cells: list[Cell]
    anew: list[Cell]  # of them, what is there and shall be run again
    looks: list[Look]
    rehearsals: list[Rehearsal]
    plan: StudyPlan
    modes: TuningModes = TuningModes()


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A study that was run, or as far as it came."""

    folder: Path
    results: Results
    stopped_by: str | None  # a signal's name, if one ended the study early; the results are then of what is there


def prepare(study: Study, *, slots: int, again: Sequence[str] = (), modes: TuningModes | None = None, quiet: bool = False) -> PreparedStudy:
    """Read every file, try every model on every task, and count: nothing is written, and what cannot work says so. `modes` are those that were
    decided when the study was started."""
    found = entrants(study)
    cells_again(grid(study, found), again)  # refuses what there is not
    console = Console(stderr=True, quiet=quiet)
    with console.status("reading the tasks …"):
        looks = look_at_tasks(study)
    with console.status("rehearsing a few steps of every model …"):
        rehearsals = rehearse_all(study, found, looks, slots=min(slots, runs_at_once(study.threads)))  # here, wherever cells are run
    refuse_small_budget(study.budget, rehearsals)
    modes = choose_modes(study, found, looks, rehearsals) if modes is None else modes
    found, rehearsals = modes.applied(found), modes.told(rehearsals)
    cells = grid(study, found)
    return PreparedStudy(
        study=study, entrants=found, cells=cells, anew=cells_again(cells, again), looks=looks, rehearsals=rehearsals,
        plan=make_plan(study, found, cells, looks, rehearsals, slots=slots), modes=modes,
    )  # fmt: skip


def compare(
    study: Study,
    folder: Path,
    *,
    resume: bool = False,
    again: Sequence[str] = (),
    engine: Engine | None = None,
    agree: Callable[[PreparedStudy, float], bool] = lambda prepared, seconds: True,
    quiet: bool = False,
) -> Compared | None:
    """Run the study into `folder`, or go on with it there, with the runs `again` (MODEL:SEED) thrown away and made anew; None: `agree`, told the plan
    and the seconds that are left of it, would not."""
    check_folder(folder, study, resume=resume)
    engine = engine or make_engine("local", threads=study.threads)
    clock = Clock(folder)
    prepared = prepare(study, slots=engine.slots, again=again, modes=decided(folder), quiet=quiet)
    ended = read_states(folder, [cell for cell in prepared.cells if cell not in prepared.anew])
    with clock.stopped():
        agreed = agree(prepared, prepared.plan.left([key for key, state in ended.items() if state["status"] != Status.FAILED]))
    if not agreed:
        return None
    with locked(folder):
        prepared.modes.save(folder)  # first: a study that is there has been decided on
        claim_folder(folder, study, slots=engine.slots)
        write_text(folder / STUDY_FILE, write_study_file(study, beside=folder))
        throw_away(folder, prepared.anew)
        reasons = {(one.entrant, task): reason for one in prepared.rehearsals for task, reason in one.cannot.items()}
        mark_cannot(folder, prepared.cells, reasons)
        metrics = {look.name: look.task.metric for look in prepared.looks}
        try:
            with Board(study, prepared.entrants, metrics, prepared.plan, quiet=quiet) as board:
                stopped = run_cells(folder, prepared.cells, engine, clock=clock, show=board.show)
        except BaseException:
            engine.stop()  # or closing would wait for what was never told
            raise
        finally:
            engine.close()
        results = gather(folder, study, prepared.entrants, prepared.cells, clock)
        return Compared(folder=folder, results=results, stopped_by=stopped)


def decided(folder: Path) -> TuningModes | None:
    """How the study's models are tuned; None: there is no study yet. Those of earlier versions tuned everything."""
    return read_modes(folder) or (TuningModes() if (folder / STUDY).exists() else None)


def finished(folder: Path, *, margin: float | None = None) -> Results | None:
    """The results of a study in which every cell has ended, well or badly, with another margin if one is given; None: something is left to run."""
    study = read_study(folder)
    study = study if margin is None else replace(study, margin=margin)
    check_files(folder, study)
    found = (decided(folder) or TuningModes()).applied(entrants(study))
    cells = grid(study, found)
    states = read_states(folder, cells)
    if any(cell.key not in states for cell in cells):
        return None
    return gather(folder, study, found, cells, Clock(folder))


def gather(folder: Path, study: Study, found: list[Entrant], cells: list[Cell], clock: Clock) -> Results:
    """Everything read back from disk, and written to results.json."""
    clock.tick()
    results = collect(folder, study, found, cells, read_states(folder, cells), clock)
    results.save(folder)
    return results
