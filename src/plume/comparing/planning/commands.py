"""The commands of a study and of each of its runs, as a user would type them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from plume.comparing.cells import Cell
from plume.comparing.shown import shown
from plume.comparing.study import Study


def _again(folder: Path) -> str:
    """Beside the study, which nothing is written over."""
    return f"{shown(folder)}-again"


def study_command(folder: Path) -> str:
    """That runs all of it again."""
    return shlex.join(["plume", "compare", shown(folder / "study.toml"), "--out", _again(folder)])


def cell_command(folder: Path, study: Study, cell: Cell) -> str:
    """That runs this cell again, beside the study."""
    entrant = cell.line
    assert entrant is not None, "cells of a grid know their entrant"
    made = str(Path(_again(folder)) / cell.folder)
    out = ["--out", made]
    if cell.kind.makes:
        return _with_threads(study, entrant.command(study, folder, cell) + out)
    task = study.task(cell.task)
    tuned = _with_threads(study, entrant.tune_words(study, folder, cell) + out)
    return f"{tuned} && {shlex.join(['plume', 'eval', made, '--data', shown(task.scored)])}"


def _with_threads(study: Study, words: Sequence[str]) -> str:
    """The number of threads is part of what makes a run give the same numbers again."""
    return f"OMP_NUM_THREADS={study.threads} {shlex.join(words)}"
