"""The work of one cell, in a process of its own: an ordinary run of `plume pretrain` or `plume tune`, and what is measured of it.

A cell leaves state/KEY.json when it is done or has failed; one that was interrupted leaves none, and goes on from its last checkpoint.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.entrant import Entrant, Unfit
from plume.comparing.measuring.probes import probe
from plume.comparing.measuring.sizes import peak_memory
from plume.comparing.results import Status
from plume.comparing.rows.scored import scored_examples
from plume.comparing.study import Study
from plume.core.errors import PlumeError
from plume.core.files import read_json, write_json, write_text
from plume.core.part import part_from_json
from plume.tuning.loaded import load_tuned
from plume.tuning.speed import measure_speed

STUDY = "study.json"
_TIMING = 1.0  # seconds
_BEFORE = ".part"


class Interrupted(Exception):
    """A signal ended the run; it has saved itself."""


def read_study(folder: Path) -> Study:
    """The study that lies there."""
    study = part_from_json(read_json(folder / STUDY, "it should hold what the study compares"))
    if not isinstance(study, Study):
        raise PlumeError(f"{folder / STUDY} holds no study.")
    return study


def run_cell(folder: Path, cell: Cell) -> dict[str, Any] | None:
    """Do it, and leave the state behind; an error becomes a failed cell with its reason. None: it was interrupted."""
    before = cell.state(folder).with_suffix(_BEFORE)  # the time of sittings that were interrupted
    seconds: dict[str, float] = read_json(before, "what a cell has taken so far") if before.exists() else {}
    work = _make if cell.kind.makes else {CellKind.TUNE: _tune, CellKind.PROBE: _probe, CellKind.SPEED: _speed}[cell.kind]
    entrant = cell.line
    assert entrant is not None, "cells of a grid know their entrant"
    try:
        study = read_study(folder)
        with _threads(study.threads):
            found = work(folder, study, entrant, cell, seconds)
        state = {"status": Status.DONE.value} | found
    except Interrupted:
        write_json(before, seconds)
        return None
    except Unfit as error:
        state = {"status": Status.CANNOT.value, "reason": str(error)}
    except PlumeError as error:
        state = {"status": Status.FAILED.value, "reason": str(error)}
    except Exception as error:
        write_text(cell.state(folder).with_suffix(".log"), traceback.format_exc())
        state = {"status": Status.FAILED.value, "reason": f"{type(error).__name__}: {error} (see state/{cell.key}.log)"}
    state |= {"seconds": seconds, "peak_memory": peak_memory()}
    write_json(cell.state(folder), state)
    before.unlink(missing_ok=True)
    return state


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Of everything that would else take all cores, and so the time of the cell beside this one: torch, numpy, tokenizers, processes that read."""
    torch.set_num_threads(count)
    os.environ |= {"RAYON_NUM_THREADS": str(count), "PLUME_WORKERS": str(count)}
    with threadpool_limits(count):
        yield


@contextmanager
def _timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds[what] = seconds.get(what, 0.0) + time.perf_counter() - began


def _make(folder: Path, study: Study, entrant: Entrant, cell: Cell, seconds: dict[str, float]) -> dict[str, Any]:
    """The model directory, by pre-training or from others: either is time that was spent before any task was known."""
    with _timed(seconds, "pretraining"):
        stopped = entrant.make(study, folder, cell)
    if stopped:
        raise Interrupted
    return {}


def _tune(folder: Path, study: Study, entrant: Entrant, cell: Cell, seconds: dict[str, float]) -> dict[str, Any]:
    out, task = folder / cell.folder, study.task(cell.task)
    with _timed(seconds, "tuning"):
        made = entrant.put_to_task(study, folder, cell)
    if made.stopped_by:
        raise Interrupted
    with _timed(seconds, "evaluating"):
        tuned = load_tuned(out)
        measured = tuned.evaluate(task.scored)
        lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in measured.predictions)
        write_text(cell.predictions(folder), lines)
    return {"scores": measured.scores, "steps": made.steps}


def _probe(folder: Path, study: Study, entrant: Entrant, cell: Cell, seconds: dict[str, float]) -> dict[str, Any]:
    found = []
    with _timed(seconds, "evaluating"):
        for task in study.tasks:
            ready, examples, _ = scored_examples(task)
            if one := probe(entrant.directory(folder, cell.seed), ready.task, ready.train, examples, name=entrant.name):
                found.append(asdict(one) | {"task": task.name})
    return {"probes": found}


def _speed(folder: Path, study: Study, entrant: Entrant, cell: Cell, seconds: dict[str, float]) -> dict[str, Any]:
    """On each task, of the first seed that is there: it does not depend on the seed."""
    found = {}
    with _timed(seconds, "evaluating"):
        for task in study.tasks:
            tuned = [replace(cell, kind=CellKind.TUNE, seed=seed, task=task.name) for seed in range(study.seeds)]
            if done := next((one for one in tuned if _is_done(one.state(folder))), None):
                model = load_tuned(folder / done.folder)
                speed = measure_speed(model, model.task(), scored_examples(task)[1], seconds=_TIMING)
                found[task.name] = asdict(speed) | {"seed": done.seed}
    return {"speeds": found}


def _is_done(state: Path) -> bool:
    return state.exists() and read_json(state, "the state of a cell")["status"] == Status.DONE
