"""A model directory whose pre-training goes on, on the study's corpus and at its budget (arXiv:2004.10964)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.comparing.cells import Cell, CellKind
from plume.comparing.entrants.derived import DerivedEntrant
from plume.comparing.entrants.directories import ModelDirectory
from plume.comparing.entrants.entrant import Entrant
from plume.comparing.entrants.few_steps import few_steps
from plume.comparing.entrants.pretrained import pretrain, pretrain_words
from plume.comparing.results import Origin
from plume.comparing.shown import shown
from plume.comparing.study import Study
from plume.core.errors import PlumeError
from plume.core.part import has_path
from plume.model.checkpoint import RECIPE, read_recipe
from plume.model.recipe import Recipe
from plume.recipes._own import changed
from plume.tuning.declared import is_tuned

_SETTABLE = "training."  # its shape and its tokenizer are what they are


@dataclass(frozen=True, kw_only=True)
class ContinuedEntrant(DerivedEntrant):
    """`plume pretrain --init`: the parent's recipe, weights and tokenizer; with every seed other masks and another order."""

    origin = Origin.CONTINUED
    kind = CellKind.PRETRAIN

    budget: str

    def derive(self, study: Study, models: Sequence[Path], out: Path, *, seed: int) -> str | None:
        (start,) = models
        return pretrain(study, out, recipe=str(start / RECIPE), budget=self.budget, overrides=self.overrides, seed=seed, init=start)

    def command(self, study: Study, folder: Path, cell: Cell) -> list[str]:
        (start,) = self.models(folder, cell.seed)
        words = pretrain_words(study, recipe=str(start / RECIPE), budget=self.budget, overrides=self.overrides)
        return [*words, "--init", shown(start), "--seed", str(cell.seed)]

    def rehearsed(self, study: Study, scratch: Path, out: Path) -> Path:
        (start,) = self.rehearsed_models(study, scratch, out)
        return few_steps(changed(read_recipe(start), overrides=self.overrides), study, scratch, out / "made", init=start)


def continued(name: str, study: Study, parent: Entrant) -> ContinuedEntrant:
    """The parent, going on. Of what the study sets it takes what is of training."""
    if not isinstance(parent.declared, Recipe):
        raise PlumeError(f"{name}: the training of word vectors cannot be continued; only the pre-training of a network can.")
    if isinstance(parent, ModelDirectory) and is_tuned(Path(parent.path)):
        raise PlumeError(f"{name}: {parent.path} is fine-tuned for a task; name the model that it was fine-tuned from.")
    paths = {one: one.partition("=")[0].strip() for one in study.overrides}
    overrides = tuple(one for one, path in paths.items() if path.startswith(_SETTABLE) and has_path(parent.declared, path))
    declared = changed(parent.declared, overrides=overrides)
    return ContinuedEntrant(name=name, declared=declared, overrides=overrides, parents=(parent,), budget=study.budget.text)
