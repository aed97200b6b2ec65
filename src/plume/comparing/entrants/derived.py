"""A model that is made of other entrants' models: continued, and whatever takes model directories and writes another."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.entrant import Entrant, can_go_on
from plume.comparing.results import Origin
from plume.comparing.study import Study


@dataclass(frozen=True, kw_only=True)
class DerivedEntrant(Entrant):
    """Its cell needs those of its parents, which are run too if they are no entrants of the study themselves. A kind has to say `derive` and
    `command`; one that takes long also `rehearsed`."""

    origin = Origin.DERIVED
    kind: ClassVar[CellKind] = CellKind.DERIVE

    parents: tuple[Entrant, ...]

    @property
    def source(self) -> str:
        return ", ".join(parent.source or parent.name for parent in self.parents)

    def inputs(self, seed: int) -> tuple[tuple[Entrant, int], ...]:
        """The models that the one of this seed is made of: each an entrant and one of its seeds."""
        return tuple((parent, seed) for parent in self.parents)

    def cells(self, seed: int) -> tuple[Cell, ...]:
        before = [parent.cells(number) for parent, number in self.inputs(seed)]
        needs = tuple(dict.fromkeys(cells[-1].key for cells in before if cells))
        return (*(cell for cells in before for cell in cells), self.cell(self.kind, seed, needs=needs))

    def models(self, folder: Path, seed: int) -> list[Path]:
        """The directories of its inputs, of the study in `folder`."""
        return [parent.directory(folder, number) for parent, number in self.inputs(seed)]

    def make(self, study: Study, folder: Path, cell: Cell) -> str | None:
        out = folder / cell.folder
        if not can_go_on(out):
            shutil.rmtree(out, ignore_errors=True)
        return self.derive(study, self.models(folder, cell.seed), out, seed=cell.seed)

    def derive(self, study: Study, models: Sequence[Path], out: Path, *, seed: int) -> str | None:
        """Make the directory `out` of those of the inputs; returns the signal that ended it early, if one did."""
        raise NotImplementedError

    def rehearsed_models(self, study: Study, scratch: Path, out: Path) -> list[Path]:
        """Rehearsals of its inputs, each parent once; beside its own, for theirs may be under way."""
        parents = {parent.name: parent for parent, _ in self.inputs(0)}
        made = {name: parent.rehearsed(study, scratch, out / "of" / parent.folder) for name, parent in parents.items()}
        return [made[parent.name] for parent, _ in self.inputs(0)]

    def rehearsed(self, study: Study, scratch: Path, out: Path) -> Path:
        self.derive(study, self.rehearsed_models(study, scratch, out), out / "made", seed=0)
        return out / "made"
