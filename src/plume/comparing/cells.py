"""Cell: one run of a study, with the directory, the state and the answers that it leaves."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plume.comparing.entrants.entrant import Entrant


class CellKind(enum.StrEnum):
    """What a run does."""

    PRETRAIN = "pretrain"
    DERIVE = "derive"  # a model directory from others, or from one of another format
    TUNE = "tune"  # and score
    PROBE = "probe"
    SPEED = "speed"  # of prediction

    @property
    def makes(self) -> bool:
        """Does it make a model directory, for other runs to start from?"""
        return self in (CellKind.PRETRAIN, CellKind.DERIVE)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """An entrant, a seed, a task where there is one; and the cells that must be done before."""

    kind: CellKind
    entrant: str  # its name
    folder_name: str  # the entrant's
    seed: int
    task: str = ""
    needs: tuple[str, ...] = ()  # keys of cells
    line: Entrant | None = field(default=None, compare=False, repr=False)  # the entrant itself, for the process that does the work

    @property
    def alone(self) -> bool:
        """Nothing may run beside it."""
        return self.kind is CellKind.SPEED

    @property
    def key(self) -> str:
        """Its name within the study, which its files bear."""
        return "-".join(filter(None, (self.kind, self.folder_name, str(self.seed), self.task)))

    @property
    def folder(self) -> Path:
        """Within the study."""
        if self.kind.makes:
            return Path("models") / self.folder_name / str(self.seed)
        return Path("tuned") / self.folder_name / str(self.seed) / self.task

    def state(self, study: Path) -> Path:
        """The file that says how it ended."""
        return study / "state" / f"{self.key}.json"

    def predictions(self, study: Path) -> Path:
        """What it answered on the scored file, a line each."""
        return study / "predictions" / f"{self.key}.jsonl"
