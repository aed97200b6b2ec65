"""A run that is to be made again, for example because something else was using the machine: a model with one seed, and all that stands on it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from plume.comparing.planning.grid import Cell, CellKind
from plume.core.errors import PlumeError, suggest


def cells_again(cells: Sequence[Cell], runs: Sequence[str]) -> list[Cell]:
    """Pre-training, tunings and probes of every run, each written MODEL:SEED. Timings follow by themselves: they are of what is there."""
    return [cell for text in runs for cell in _cells_of(text, [cell for cell in cells if cell.kind is not CellKind.SPEED])]


def _cells_of(text: str, cells: Sequence[Cell]) -> list[Cell]:
    model, _, seed = text.rpartition(":")
    names, seeds = list(dict.fromkeys(cell.entrant for cell in cells)), {str(cell.seed): cell.seed for cell in cells}
    if not model or seed not in seeds:
        raise PlumeError(
            f"--again takes a model and one of the study's seeds, {names[0]}:0 for example, not '{text}' (seeds: {', '.join(seeds)})."
        )
    if model not in names:
        raise PlumeError(f"--again {text}: the study has no model '{model}': {suggest(model, names)}.")
    return [cell for cell in cells if (cell.entrant, cell.seed) == (model, seeds[seed])]


def throw_away(folder: Path, cells: Sequence[Cell]) -> None:
    """What they left. States go first: a kill in between leaves no cell that says it is done and has no files."""
    for cell in cells:
        for suffix in (".json", ".part", ".log"):
            cell.state(folder).with_suffix(suffix).unlink(missing_ok=True)
    for cell in cells:
        if cell.kind in (CellKind.PRETRAIN, CellKind.TUNE):
            shutil.rmtree(folder / cell.folder, ignore_errors=True)
