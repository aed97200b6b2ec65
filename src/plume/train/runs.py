"""A pre-training run of either kind: of a network, or of word vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.model.recipe import Recipe
from plume.static.recipe import StaticRecipe
from plume.train import pretrain, word_vectors
from plume.train.budget import Budget
from plume.train.continuing.start import recipe_to_continue
from plume.train.settings import WordSettings, declared, make_settings, make_word_settings, read_settings


def start(
    recipe: str | Recipe | StaticRecipe | None,
    *,
    corpus: str | Path | Sequence[str | Path],
    out: Path,
    budget: str | None,
    objectives: Sequence[str] = (),
    quiet: bool = False,
    **settings: Any,
) -> str | None:
    """Run it, whichever kind it is; returns the name of the signal that ended it early, if one did.

    Without a recipe the model that `init` names goes on, as `train/continuing` says.
    """
    chosen = declared(recipe) if isinstance(recipe, str) else recipe or _continued(settings.get("init"))
    if isinstance(chosen, StaticRecipe):
        made = make_word_settings(chosen, corpus=corpus, budget=budget, objectives=objectives, **settings)
        return word_vectors.start(made, out, quiet=quiet).stopped_by
    if settings.pop("threads", None) is not None:
        raise PlumeError(f"threads are for word vectors; {chosen.name} takes those that torch takes (OMP_NUM_THREADS).")
    network = make_settings(chosen, corpus=corpus, budget=budget or "10m", objectives=objectives, **settings)
    return pretrain.start(network, out, quiet=quiet).outcome.stopped_by


def _continued(initial: str | Path | None) -> Recipe:
    if initial is None:
        raise PlumeError("A recipe is needed, or a model to go on with: plume pretrain --init DIR --corpus my.txt --out runs/continued")
    return recipe_to_continue(Path(initial))


def go_on(folder: Path, *, budget: str | None, quiet: bool) -> str | None:
    """As `start`, for a run that is there."""
    settings, more = read_settings(folder), None if budget is None else Budget.parse(budget)
    if isinstance(settings, WordSettings):
        return word_vectors.resume(folder, settings, budget=more, quiet=quiet).stopped_by
    return pretrain.resume(folder, settings, budget=more, quiet=quiet).outcome.stopped_by
