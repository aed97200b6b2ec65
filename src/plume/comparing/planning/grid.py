"""The grid: every run of a study, in the order in which they are run."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.comparing.planning.entrants import Entrant
from plume.comparing.study import Study


class CellKind(enum.StrEnum):
    PRETRAIN = "pretrain"
    TUNE = "tune"  # and score
    PROBE = "probe"
    SPEED = "speed"  # of prediction


@dataclass(frozen=True, kw_only=True)
class Cell:
    kind: CellKind
    entrant: str
    folder_name: str  # the entrant's
    seed: int
    task: str = ""
    needs: str = ""  # the key of the pre-training that must be done before

    @property
    def alone(self) -> bool:
        """Nothing may run beside it."""
        return self.kind is CellKind.SPEED

    @property
    def key(self) -> str:
        return "-".join(filter(None, (self.kind, self.folder_name, str(self.seed), self.task)))

    @property
    def folder(self) -> Path:
        """Within the study."""
        if self.kind is CellKind.PRETRAIN:
            return Path("models") / self.folder_name / str(self.seed)
        return Path("tuned") / self.folder_name / str(self.seed) / self.task

    def state(self, study: Path) -> Path:
        return study / "state" / f"{self.key}.json"

    def predictions(self, study: Path) -> Path:
        """What it answered on the scored file, a line each."""
        return study / "predictions" / f"{self.key}.jsonl"


def grid(study: Study, entrants: Sequence[Entrant]) -> list[Cell]:
    """Seed by seed, and within a seed model by model in turn: noise of the machine falls on all alike, and what is there early is a whole study
    with fewer seeds. Each seed begins with another model. How fast they predict is measured at the end, when nothing else runs."""
    cells = []
    for seed in range(study.seeds):
        turn = [entrants[(seed + place) % len(entrants)] for place in range(len(entrants))]
        cells += [_pretrain(one, seed) for one in turn if not one.from_scratch or seed == 0]
        for task in study.tasks:
            cells += [_of(one, seed, CellKind.TUNE, task.name) for one in turn]
        if seed == 0 and study.probes:
            cells += [_of(one, seed, CellKind.PROBE) for one in turn if not one.from_scratch]
    rounds = (entrants, entrants[::-1])  # of one network two timings may differ by a quarter where others use the machine too
    return cells + [_speed(one, number) for number, order in enumerate(rounds) for one in order]


def _pretrain(one: Entrant, seed: int) -> Cell:
    return Cell(kind=CellKind.PRETRAIN, entrant=one.name, folder_name=one.folder, seed=seed)


def _of(one: Entrant, seed: int, kind: CellKind, task: str = "") -> Cell:
    """From scratch there is one directory to start from, whatever the seed."""
    before = _pretrain(one, 0 if one.from_scratch else seed)
    return Cell(kind=kind, entrant=one.name, folder_name=one.folder, seed=seed, task=task, needs=before.key)


def _speed(one: Entrant, number: int) -> Cell:
    """It times what is there, of whichever seed: the number is that of the round."""
    return Cell(kind=CellKind.SPEED, entrant=one.name, folder_name=one.folder, seed=number)
