"""plume in Python: the same verbs as the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plume.hf.export import export
from plume.hf.importing import import_folder
from plume.model.language_model import LanguageModel
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.train import pretrain as runs
from plume.train.budget import Budget
from plume.train.settings import Settings

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
    overrides: Sequence[str] = (),
    seed: int = 0,
    tokenizer: str | Path | None = None,
    init: str | Path | None = None,
    accumulate: int = 1,
    precision: str = "auto",
    device: str = "auto",
    workers: int = 1,
    save_every: str = "5m",
    log_every: int = 10,
    shard: bool = False,
    recompute: bool = False,
    tensorboard: bool = False,
    quiet: bool = False,
) -> LanguageModel:
    """Pre-train `recipe` on `corpus` and return the model; everything is in `out`.

    `overrides` are settings by dotted path, as --set takes them: "network.depth=4".
    """
    chosen = catalog.recipe(recipe) if isinstance(recipe, str) else recipe
    for assignment in overrides:
        chosen = chosen.override(assignment)
    settings = Settings(
        recipe=chosen,
        corpus=runs.corpus_paths(corpus),
        budget=Budget.parse(budget),
        seed=seed,
        tokenizer=None if tokenizer is None else str(tokenizer),
        initial=None if init is None else str(init),
        accumulate=accumulate,
        precision=runs.precision_of(precision),
        device=device,
        workers=workers,
        save_every=Budget.parse(save_every),
        log_every=log_every,
        shard=shard,
        recompute=recompute,
        tensorboard=tensorboard,
    )
    return load(runs.start(settings, Path(out), quiet=quiet).folder)


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
