"""The control without any text but the task's own: TF-IDF + linear."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plume.comparing.cells import Cell
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.results import Control, Origin
from plume.comparing.study import Study
from plume.tuning.linear.model import cannot
from plume.tuning.linear.recipe import TFIDF, TermRecipe
from plume.tuning.task import Task


@dataclass(frozen=True, kw_only=True)
class TermsEntrant(Entrant):
    """Nothing is made before a task is known: its tuning is all there is, and takes none of the settings of what learns step by step."""

    origin = Origin.RECIPE

    name: str = TFIDF
    declared: TermRecipe = TermRecipe()

    @property
    def control(self) -> Control:
        return Control.TFIDF

    @property
    def has_weights(self) -> bool:
        return False

    @property
    def probed(self) -> bool:
        return False

    def cells(self, seed: int) -> tuple[Cell, ...]:
        return ()

    def directory(self, folder: Path, seed: int) -> Path:
        return Path(TFIDF)

    def rehearsed(self, study: Study, scratch: Path, out: Path) -> Path:
        return Path(TFIDF)

    def cannot(self, task: Task) -> str | None:
        return cannot(task)

    def tune(self, study: Study) -> tuple[str, ...]:
        return ()
