"""The grid: every run of a study, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Sequence

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.study import Study


def grid(study: Study, entrants: Sequence[Entrant]) -> list[Cell]:
    """Seed by seed, and within a seed model by model in turn: noise of the machine falls on all alike, and what is there early is a whole study
    with fewer seeds. Each seed begins with another model. How fast they predict is measured at the end, when nothing else runs.

    No cell stands before one that it needs; what several entrants are made from is there once.
    """
    cells: list[Cell] = []
    for seed in range(study.seeds):
        turn = [entrants[(seed + place) % len(entrants)] for place in range(len(entrants))]
        cells += [cell for one in turn for cell in one.cells(seed)]
        for task in study.tasks:
            cells += [_of(one, seed, CellKind.TUNE, task.name) for one in turn]
        if seed == 0 and study.probes:
            cells += [_of(one, seed, CellKind.PROBE) for one in turn if one.probed]
    rounds = (entrants, entrants[::-1])  # of one network two timings may differ by a quarter where others use the machine too
    # A timing is of what is there, of whichever seed: its number is that of the round.
    cells += [one.cell(CellKind.SPEED, number) for number, order in enumerate(rounds) for one in order]
    once: dict[str, Cell] = {}
    for cell in cells:
        once.setdefault(cell.key, cell)
    return list(once.values())


def _of(one: Entrant, seed: int, kind: CellKind, task: str = "") -> Cell:
    return one.cell(kind, seed, task=task, needs=tuple(cell.key for cell in one.cells(seed)[-1:]))
