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
        made_of_others_last = sorted(turn, key=lambda one: one.generation)
        for task in study.tasks:
            cells += [one.cell(CellKind.TUNE, seed, task=task.name, needs=one.tuned_after(seed, task.name)) for one in made_of_others_last]
        if seed == 0 and study.probes:
            cells += [_probe(one, seed) for one in turn if one.probed]
    rounds = (entrants, entrants[::-1])  # of one network two timings may differ by a quarter where others use the machine too
    # A timing is of what is there, of whichever seed: its number is that of the round.
    cells += [one.cell(CellKind.SPEED, number) for number, order in enumerate(rounds) for one in order]
    once: dict[str, Cell] = {}
    for cell in cells:
        once.setdefault(cell.key, cell)
    return list(once.values())


def _probe(one: Entrant, seed: int) -> Cell:
    return one.cell(CellKind.PROBE, seed, needs=tuple(cell.key for cell in one.cells(seed)[-1:]))
