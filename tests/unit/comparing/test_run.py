"""The order of things when cells end well, badly or not at all; with an engine that only writes down what it is told."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from plume.comparing.cells import Cell, CellKind
from plume.comparing.planning.again import cells_again, throw_away
from plume.comparing.results import Status
from plume.comparing.running.engine import State
from plume.comparing.running.run import Clock, GridProgress, _ready, locked, mark_cannot, read_states, run_cells
from plume.core.errors import PlumeError
from plume.core.files import write_json, write_text


def cells() -> list[Cell]:
    found = []
    for name in ("a", "b"):
        found.append(Cell(kind=CellKind.PRETRAIN, entrant=name, folder_name=name, seed=0))
    for name in ("a", "b"):
        found += [
            Cell(kind=CellKind.TUNE, entrant=name, folder_name=name, seed=0, task=task, needs=(f"pretrain-{name}-0",))
            for task in ("x", "y")
        ]
    return found


class Scripted:
    """Ends every cell at once, as told: done, failed by itself, or dead without a word."""

    slots = 1

    def __init__(self, ends: dict[str, str] | None = None) -> None:
        self.ends, self.ran = ends or {}, []  # type: ignore[var-annotated]

    def submit(self, folder: Path, cell: Cell) -> Future[State]:
        self.ran.append(cell.key)
        future: Future[State] = Future()
        match self.ends.get(cell.key, "done"):
            case "dead":
                future.set_exception(ChildProcessError("the process was ended by signal 9"))
            case "failed":
                write_json(cell.state(folder), {"status": "failed", "reason": "the loss is no number"})
                future.set_result(None)
            case "interrupted":
                future.set_result(None)
            case _:
                write_json(cell.state(folder), {"status": "done"})
                future.set_result(None)
        return future

    def stop(self) -> None: ...

    def close(self) -> None: ...


def run(folder: Path, engine: Scripted) -> tuple[str | None, dict[str, Any], list[GridProgress]]:
    shown: list[GridProgress] = []
    stopped = run_cells(folder, cells(), engine, clock=Clock(folder), show=shown.append)
    return stopped, read_states(folder, cells()), shown


def test_all_cells_run_once_in_order(tmp_path: Path) -> None:
    engine = Scripted()
    stopped, states, shown = run(tmp_path, engine)
    assert stopped is None and engine.ran == [cell.key for cell in cells()]
    assert {state["status"] for state in states.values()} == {"done"} and len(shown[-1].states) == len(cells())
    second = Scripted()
    run(tmp_path, second)
    assert second.ran == []


def test_a_dead_process_fails_its_cell_and_what_stands_on_it_only(tmp_path: Path) -> None:
    engine = Scripted({"pretrain-a-0": "dead", "tune-b-0-x": "failed"})
    stopped, states, _ = run(tmp_path, engine)
    assert stopped is None
    assert engine.ran == ["pretrain-a-0", "pretrain-b-0", "tune-b-0-x", "tune-b-0-y"]
    assert states["pretrain-a-0"] == states["tune-a-0-x"] == {"status": "failed", "reason": "the process was ended by signal 9"}
    assert states["tune-b-0-x"]["reason"] == "the loss is no number" and states["tune-b-0-y"]["status"] == "done"
    second = Scripted()
    _, states, _ = run(tmp_path, second)  # what failed is tried once more, what is done is not
    assert second.ran == ["pretrain-a-0", "tune-a-0-x", "tune-a-0-y", "tune-b-0-x"]
    assert {state["status"] for state in states.values()} == {"done"}


def test_a_cell_that_was_told_to_stop_ends_the_study(tmp_path: Path) -> None:
    engine = Scripted({"pretrain-b-0": "interrupted"})
    stopped, states, _ = run(tmp_path, engine)
    assert stopped == "SIGTERM" and engine.ran == ["pretrain-a-0", "pretrain-b-0"] and set(states) == {"pretrain-a-0"}


def test_what_cannot_be_done_is_not_tried(tmp_path: Path) -> None:
    mark_cannot(tmp_path, cells(), {("a", ""): "needs pairs", ("b", "y"): "cannot write"})
    engine = Scripted()
    _, states, _ = run(tmp_path, engine)
    assert engine.ran == ["pretrain-b-0", "tune-b-0-x"]
    assert {key: state["status"] for key, state in states.items()} == {
        "pretrain-a-0": Status.CANNOT, "tune-a-0-x": Status.CANNOT, "tune-a-0-y": Status.CANNOT, "pretrain-b-0": Status.DONE,
        "tune-b-0-x": Status.DONE, "tune-b-0-y": Status.CANNOT,
    }  # fmt: skip
    assert states["tune-a-0-x"]["reason"] == "needs pairs"


def test_more_slots_run_what_does_not_wait_for_another(tmp_path: Path) -> None:
    engine = Scripted()
    engine.slots = 3
    run(tmp_path, engine)
    assert engine.ran[:2] == ["pretrain-a-0", "pretrain-b-0"] and len(engine.ran) == len(set(engine.ran)) == len(cells())


def test_what_must_be_alone_comes_when_nothing_else_runs(tmp_path: Path) -> None:
    timing, work = timings(), cells()
    running: dict[Future[State], Cell] = {Future(): work[-1]}
    states: dict[str, Any] = {cell.key: {"status": "done"} for cell in work[:-1]}
    assert _ready([*timing, *work], states, running, 4) == []
    assert _ready([*timing, *work], states, {}, 4) == [work[-1]]
    assert _ready([*timing, *work], states | {work[-1].key: {"status": "done"}}, {}, 4) == timing[:1]


def timings() -> list[Cell]:
    return [Cell(kind=CellKind.SPEED, entrant=name, folder_name=name, seed=0) for name in "ab"]


def test_a_model_is_timed_again_when_more_of_it_is_there(tmp_path: Path) -> None:
    every = [*cells(), *timings()]
    run_cells(tmp_path, every, Scripted({"tune-a-0-x": "failed"}), clock=Clock(tmp_path), show=lambda progress: None)
    second = Scripted()
    run_cells(tmp_path, every, second, clock=Clock(tmp_path), show=lambda progress: None)
    assert second.ran == ["tune-a-0-x", "speed-a-0"]


def test_what_could_not_be_done_and_now_can_is_run(tmp_path: Path) -> None:
    mark_cannot(tmp_path, cells(), {("a", ""): "its rehearsal was ended by the system", ("b", "y"): "cannot write"})
    run(tmp_path, Scripted())
    mark_cannot(tmp_path, cells(), {("b", "y"): "cannot write"})
    second = Scripted()
    _, states, _ = run(tmp_path, second)
    assert second.ran == ["pretrain-a-0", "tune-a-0-x", "tune-a-0-y"] and states["tune-b-0-y"]["status"] == "cannot"


def test_a_run_is_made_again_with_all_that_stands_on_it(tmp_path: Path) -> None:
    every = [*cells(), *timings()]
    run_cells(tmp_path, every, Scripted(), clock=Clock(tmp_path), show=lambda progress: None)
    left = [tmp_path / cell.folder / "model.safetensors" for cell in cells()]
    for path in left:
        write_text(path, "weights")
    throw_away(tmp_path, cells_again(every, ["b:0"]))
    assert [path.exists() for path in left] == [cell.entrant == "a" for cell in cells()]
    second = Scripted()
    run_cells(tmp_path, every, second, clock=Clock(tmp_path), show=lambda progress: None)
    assert second.ran == ["pretrain-b-0", "tune-b-0-x", "tune-b-0-y", "speed-b-0"]


@pytest.mark.parametrize(("text", "says"), [("b", "not 'b'"), ("b:7", "seeds: 0"), ("b:x", "b:x"), ("c:0", "no model 'c'")])
def test_a_run_that_is_not_there(text: str, says: str) -> None:
    with pytest.raises(PlumeError, match=says):
        cells_again(cells(), [text])


def test_one_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(PlumeError, match="Another process"), locked(tmp_path):
        pass


def test_the_clock_goes_on_over_sittings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("plume.comparing.running.run.time.monotonic", lambda: now[0])
    clock = Clock(tmp_path)
    now[0] = 107.0
    clock.tick(2)
    assert (clock.seconds, clock.offered) == (7.0, 14.0)
    now[0] = 500.0
    later = Clock(tmp_path)
    now[0] = 503.0
    later.tick()
    assert (later.seconds, later.offered) == (10.0, 17.0)
    with later.stopped():
        now[0] += 60.0
    now[0] += 1.0
    later.tick()
    assert later.seconds == 11.0
