"""A study is run: cells that are ready go to the engine in the order of the grid, and every one that ends leaves its state on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from plume.comparing.cells import Cell, CellKind
from plume.comparing.measuring.sizes import machine, versions
from plume.comparing.planning.modes import MODES
from plume.comparing.results import Status
from plume.comparing.running.engine import Engine, State
from plume.comparing.running.work import STUDY, read_study
from plume.comparing.study import EMBEDDED, Study, refuse_within
from plume.core import files
from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json
from plume.train.signals import watched_signals

_FILES, MACHINE, _CLOCK, _LOCK = "files.json", "machine.json", Path("state") / "clock.json", ".lock"
_OURS = {_FILES, MACHINE, MODES, _LOCK, EMBEDDED}  # what may be there before a study is


@dataclass(frozen=True, kw_only=True)
class GridProgress:
    """What the board shows after every change."""

    states: dict[str, dict[str, Any]]  # by cell key, of cells that have ended
    running: tuple[Cell, ...]
    cells: tuple[Cell, ...]


def check_folder(folder: Path, study: Study, *, resume: bool) -> None:
    """A study needs a directory of its own: a new one, or that of the same study with the same files."""
    refuse_within(study, folder)
    if not (folder / STUDY).exists():
        if resume:
            raise PlumeError(f"{folder} holds no study to resume: leave --resume out to start one there.")
        refuse_foreign(folder)
        return
    _refuse_another(folder, study)
    if not resume:
        raise PlumeError(f"{folder} holds this study already: resume it with --resume, or choose another --out.")
    check_files(folder, study)


def _refuse_another(folder: Path, study: Study) -> None:
    there = read_study(folder)
    decide = [one.name for one in fields(Study) if one.name != "margin"]  # which no run depends on
    if differ := [name for name in decide if getattr(there, name) != getattr(study, name)]:
        raise PlumeError(
            f"{folder} holds another study (other {', '.join(differ)}): "
            f"choose another --out, or resume that one with: plume compare {folder} --resume"
        )


def refuse_foreign(folder: Path) -> None:
    """A directory that holds anything but a study, or what is left of one that was killed before it began."""
    if not folder.exists() or (folder / STUDY).exists():
        return
    if not folder.is_dir() or any(one.name not in _OURS and not one.name.startswith(".") for one in folder.iterdir()):
        raise PlumeError(f"{folder} exists already and holds no study: choose another --out.")


def claim_folder(folder: Path, study: Study, *, slots: int) -> None:
    """From here on it is this study's. What the files hold is written first: a study that is there has all of it."""
    if (folder / STUDY).exists():
        _refuse_another(folder, study)  # started by another process meanwhile
    else:
        write_json(folder / _FILES, study.fingerprint())
        write_json(
            folder / MACHINE, {"machine": machine() | {"threads": str(study.threads), "at_a_time": str(slots)}, "versions": versions()}
        )
        write_json(folder / STUDY, study.to_json())


def check_files(folder: Path, study: Study) -> None:
    """They must hold what they held when the study was started."""
    known = read_json(folder / _FILES, "it should say what the study's files held")
    for path, digest in study.fingerprint().items():
        if known.get(path) != digest:
            raise PlumeError(
                f"{path} has changed since the study in {folder} was started: restore it, or start a new study with another --out."
            )


def locked(folder: Path) -> AbstractContextManager[None]:
    """One at a time: two would spoil each other's runs."""
    return files.locked(folder / _LOCK, f"Another process is working on {folder}.")


def read_states(folder: Path, cells: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """Of the cells that have ended, how."""
    return {cell.key: read_json(cell.state(folder), "the state of a cell") for cell in cells if cell.state(folder).exists()}


def run_cells(folder: Path, cells: Sequence[Cell], engine: Engine, *, clock: Clock, show: Callable[[GridProgress], None]) -> str | None:
    """Run what is not done; what failed before is tried once more. Returns the signal that ended it early, if one did."""
    states = _to_keep(cells, read_states(folder, cells))
    running: dict[Future[State], Cell] = {}
    told = False
    with watched_signals() as caught:
        while True:
            _skip_orphans(folder, cells, states)
            for cell in [] if caught else _ready(cells, states, running, engine.slots):
                cell.state(folder).unlink(missing_ok=True)
                running[engine.submit(folder, cell)] = cell
            clock.tick(1 if any(cell.alone for cell in running.values()) else engine.slots)
            show(GridProgress(states=states, running=tuple(running.values()), cells=tuple(cells)))
            if not running:
                break
            ended, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            if caught and not told:
                engine.stop()
                told = True
            for future in ended:
                cell = running.pop(future)
                if (state := _state_after(folder, cell, future, bool(caught))) is not None:
                    states[cell.key] = state
                elif not caught:
                    caught.append("SIGTERM")  # the cell was told to stop, and we were not: so do we
    return caught[0] if caught else None


def _to_keep(cells: Sequence[Cell], states: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """All but what failed; and timings only of models of which nothing is left to run, for they are of what was there."""
    kept = {key: state for key, state in states.items() if state["status"] != Status.FAILED}
    unfinished = {cell.entrant for cell in cells if not cell.alone and cell.key not in kept}
    return {cell.key: kept[cell.key] for cell in cells if cell.key in kept and not (cell.alone and cell.entrant in unfinished)}


def _ready(cells: Sequence[Cell], states: dict[str, Any], running: dict[Future[State], Cell], slots: int) -> list[Cell]:
    busy = {cell.key for cell in running.values()}
    waiting = (cell for cell in cells if cell.key not in states and cell.key not in busy)
    ready = [cell for cell in waiting if all(states.get(key, {}).get("status") == Status.DONE for key in cell.needs)]
    if together := [cell for cell in ready if not cell.alone]:
        return together[: max(slots - len(running), 0)]
    return [] if running else ready[:1]


def _skip_orphans(folder: Path, cells: Sequence[Cell], states: dict[str, Any]) -> None:
    """What needs a run that failed cannot be done either."""
    for cell in cells:
        ended = [states[key] for key in cell.needs if key in states]
        before = next((state for state in ended if state["status"] != Status.DONE), None)
        if cell.key not in states and before is not None:
            states[cell.key] = {"status": before["status"], "reason": before["reason"]}
            write_json(cell.state(folder), states[cell.key])


def _state_after(folder: Path, cell: Cell, future: Future[State], stopping: bool) -> dict[str, Any] | None:
    """What the cell left; None: it was interrupted, and will go on another time."""
    error = future.exception()
    if error is None and (handed_over := future.result()) is not None:
        return handed_over
    if cell.state(folder).exists():
        return dict(read_json(cell.state(folder), "the state of a cell"))
    if error is None or stopping:
        return None
    state = {"status": Status.FAILED.value, "reason": str(error)}
    write_json(cell.state(folder), state)
    return state


def mark_cannot(folder: Path, cells: Sequence[Cell], reasons: dict[tuple[str, str], str]) -> None:
    """Cells that could never be done, by entrant and task ("" for its pre-training). What could not be done before, and now can, is run."""
    before = read_states(folder, cells)
    for cell in cells:
        reason = reasons.get((cell.entrant, "")) or (reasons.get((cell.entrant, cell.task)) if cell.kind is CellKind.TUNE else None)
        if reason and cell.key not in before:
            write_json(cell.state(folder), {"status": Status.CANNOT.value, "reason": reason})
        elif not reason and before.get(cell.key, {}).get("status") == Status.CANNOT:
            cell.state(folder).unlink()


class Clock:
    """Time over all sittings, kept on disk: what a kill takes away is a second of it at most."""

    def __init__(self, folder: Path) -> None:
        self._path, self._last, self._saved = folder / _CLOCK, time.monotonic(), 0.0
        kept = read_json(self._path, "the study's clock") if self._path.exists() else {}
        self.seconds = float(kept.get("seconds", 0.0))
        self.offered = float(kept.get("offered", 0.0))  # as many times over as there was room for runs

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """While a user is asked, for example."""
        began = time.monotonic()
        yield
        self._last += time.monotonic() - began

    def tick(self, slots: int = 1) -> None:
        """Count the time since the last one, in which there was room for so many runs."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        self.seconds += passed
        self.offered += passed * slots
        if self.seconds - self._saved > 1:
            write_json(self._path, {"seconds": self.seconds, "offered": self.offered})
            self._saved = self.seconds
