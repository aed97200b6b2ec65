"""The commands of a study and of each of its runs, as a user would type them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from plume.comparing.planning.entrants import Entrant
from plume.comparing.planning.grid import Cell, CellKind
from plume.comparing.running.work import model_folder, word_threads
from plume.comparing.study import Study, is_recipe_file


def shown(path: str | Path) -> str:
    """As one would type it from where the study was run; what lies elsewhere keeps its whole path."""
    near = os.path.relpath(path)
    return os.path.abspath(path) if near.startswith(os.path.join(os.pardir, os.pardir)) else near


def _again(folder: Path) -> str:
    """Beside the study, which nothing is written over."""
    return f"{shown(folder)}-again"


def study_command(folder: Path) -> str:
    return shlex.join(["plume", "compare", shown(folder / "study.toml"), "--out", _again(folder)])


def cell_command(folder: Path, study: Study, entrants: Sequence[Entrant], cell: Cell) -> str:
    entrant = next(one for one in entrants if one.name == cell.entrant)
    made = str(Path(_again(folder)) / cell.folder)
    out = ["--seed", str(cell.seed), "--out", made]
    if cell.kind is CellKind.PRETRAIN:
        words = ["plume", "pretrain", shown(entrant.recipe) if is_recipe_file(entrant.recipe) else entrant.recipe]
        words += [word for path in study.corpus for word in ("--corpus", shown(path))]
        words += ["--budget", entrant.budget] if entrant.budget else []
        words += [word for one in entrant.overrides for word in ("--set", one)]
        words += ["--threads", str(word_threads(study))] if entrant.static else []
        return _with_threads(study, words + out)
    task = study.task(cell.task)
    words = ["plume", "tune", shown(folder / model_folder(entrant, cell.seed)), "--task", task.kind, "--train", shown(task.train)]
    words += ["--dev", shown(task.dev)] if task.dev else []
    words += [word for column in task.text for word in ("--text", column)]
    words += ["--label", task.label] if task.label else []
    words += [f"--{assignment}" for assignment in study.tune]
    words += ["--from-scratch"] if entrant.from_scratch else []
    tuned = _with_threads(study, words + out)
    return f"{tuned} && {shlex.join(['plume', 'eval', made, '--data', shown(task.scored)])}"


def _with_threads(study: Study, words: Sequence[str]) -> str:
    """The number of threads is part of what makes a run give the same numbers again."""
    return f"OMP_NUM_THREADS={study.threads} {shlex.join(words)}"
