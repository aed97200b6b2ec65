"""plume in Python: the same verbs as the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plume.hf.export import export
from plume.hf.importing import import_folder
from plume.model.language_model import LanguageModel
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.train import pretrain as runs
from plume.train.budget import Budget
from plume.train.settings import make_settings

recipe = catalog.recipe


def load(folder: str | Path, *, device: str = "cpu") -> LanguageModel:
    """A model directory, ready for embed, fill, generate, score and hidden."""
    return LanguageModel.load(folder, device=device)


def pretrain(
    recipe: str | Recipe,
    *,
    corpus: str | Path | Sequence[str | Path],
    out: str | Path,
    budget: str = "10m",
    objectives: Sequence[str] = (),
    overrides: Sequence[str] = (),
    quiet: bool = False,
    **settings: Any,
) -> LanguageModel:
    """Pre-train `recipe` on `corpus` and return the model; everything is in `out`.

    `objectives` replace the recipe's own, with weights ("masked_lm=1", "sentence_order=0.5"). `overrides` are parts by dotted path, as --set
    takes them ("network.depth=4"). `settings` are those of the command line: seed, tokenizer, init, accumulate, precision, device, workers,
    save_every, log_every, shard, recompute, tensorboard, lexicon.
    """
    made = make_settings(recipe, corpus=corpus, budget=budget, objectives=objectives, overrides=overrides, **settings)
    return load(runs.start(made, Path(out), quiet=quiet).folder)


def resume(folder: str | Path, *, budget: str | None = None, quiet: bool = False) -> LanguageModel:
    """Go on with a run, from its last checkpoint."""
    runs.resume(Path(folder), budget=None if budget is None else Budget.parse(budget), quiet=quiet)
    return load(folder)


def import_hf(folder: str | Path, *, out: str | Path) -> LanguageModel:
    """A Hugging Face directory as a plume model directory."""
    imported = import_folder(Path(folder), Path(out))
    return LanguageModel(imported.model, imported.tokenizer)


def export_hf(folder: str | Path, *, out: str | Path) -> None:
    """A plume model directory as a Hugging Face directory."""
    model = load(folder)
    export(model.model, model.tokenizer, Path(out))
