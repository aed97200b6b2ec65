"""A run that is to be made again, for example because something else was using the machine: a model with one seed, and all derived from it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from plume.comparing.cells import Cell, CellKind
from plume.core.errors import PlumeError, suggest


def cells_again(cells: Sequence[Cell], runs: Sequence[str]) -> list[Cell]:
    """Every run, each written MODEL:SEED, with its tunings and probes, and whatever needs one of these. Timings follow by themselves: they are of
    what is there."""
    untimed = [cell for cell in cells if cell.kind is not CellKind.SPEED]
    anew = {cell.key for text in runs for cell in _cells_of(text, untimed)}
    for cell in untimed:  # none stands before one that it needs
        if anew & set(cell.needs):
            anew.add(cell.key)
    return [cell for cell in untimed if cell.key in anew]


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
    """What they left. States go first, and of these the derived: a kill in between leaves no cell that says it is done and has no files, nor one
    that was made of what is to be made anew."""
    for cell in reversed(cells):
        for suffix in (".json", ".part", ".log"):
            cell.state(folder).with_suffix(suffix).unlink(missing_ok=True)
    for cell in cells:
        if cell.kind.makes or cell.kind is CellKind.TUNE:
            shutil.rmtree(folder / cell.folder, ignore_errors=True)
