"""A recipe that is pre-trained here, on the study's corpus at its budget, and the control that is not."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.entrant import Entrant, can_go_on
from plume.comparing.entrants.few_steps import compile_loops, few_steps
from plume.comparing.naming import is_recipe_file
from plume.comparing.results import Control, Origin
from plume.comparing.shown import shown
from plume.comparing.study import Study
from plume.model.recipe import Recipe
from plume.static.recipe import StaticRecipe
from plume.train import runs

SCRATCH = "scratch"
_NO_TRAINING = "1steps"  # makes the directory, with shape and tokenizer, that is tuned from scratch


@dataclass(frozen=True, kw_only=True)
class PretrainedEntrant(Entrant):
    """A network or word vectors, anew with every seed."""

    origin = Origin.RECIPE

    declared: Recipe | StaticRecipe
    recipe: str  # what `plume pretrain` is told: bert/tiny, or a file
    budget: str | None  # None: word vectors' own epochs, where the budget's unit means nothing to them

    def cells(self, seed: int) -> tuple[Cell, ...]:
        return (self.cell(CellKind.PRETRAIN, seed),)

    def make(self, study: Study, folder: Path, cell: Cell) -> str | None:
        own = {"threads": word_threads(study)} if self.static else {}
        return pretrain(
            study, folder / cell.folder, recipe=self.recipe, budget=self.budget, overrides=self.overrides, seed=cell.seed, **own
        )

    def command(self, study: Study, folder: Path, cell: Cell) -> list[str]:
        words = pretrain_words(study, recipe=self.recipe, budget=self.budget, overrides=self.overrides)
        words += ["--threads", str(word_threads(study))] if self.static else []
        return [*words, "--seed", str(cell.seed)]

    def rehearsed(self, study: Study, scratch: Path, out: Path) -> Path:
        if isinstance(self.declared, StaticRecipe):
            return compile_loops(self.declared, scratch, out)
        return few_steps(self.declared, study, scratch, out)


@dataclass(frozen=True, kw_only=True)
class ScratchEntrant(PretrainedEntrant):
    """The control without pre-training: every tuning begins from random weights, in the shape and with the tokenizer of one directory."""

    name: str = SCRATCH
    budget: str | None = _NO_TRAINING

    @property
    def from_scratch(self) -> bool:
        return True

    @property
    def control(self) -> Control:
        return Control.SCRATCH

    def cells(self, seed: int) -> tuple[Cell, ...]:
        return super().cells(0)

    def tuning(self) -> dict[str, Any]:
        return {"from_scratch": True}


def pretrain(
    study: Study, out: Path, *, recipe: str | None, budget: str | None, overrides: tuple[str, ...], seed: int, **others: Any
) -> str | None:
    """`plume pretrain` on the study's corpus into `out`, or on from where it was interrupted."""
    if can_go_on(out):
        return runs.go_on(out, budget=None, quiet=True)
    shutil.rmtree(out, ignore_errors=True)
    return runs.start(recipe, corpus=study.corpus, out=out, budget=budget, overrides=overrides, seed=seed, quiet=True, **others)


def pretrain_words(study: Study, *, recipe: str | None, budget: str | None, overrides: tuple[str, ...]) -> list[str]:
    """The same as a user would type it, but for --seed and --out."""
    named = [] if recipe is None else [shown(recipe) if is_recipe_file(recipe) else recipe]
    words = ["plume", "pretrain", *named]
    words += [word for path in study.corpus for word in ("--corpus", shown(path))]
    words += ["--budget", budget] if budget else []
    return words + [word for one in overrides for word in ("--set", one)]


def word_threads(study: Study) -> int:
    """Threads share the arrays of word vectors without locks: only one gives the same numbers twice, which a budget of time never does."""
    return study.threads if study.budget.unit == "seconds" else 1
