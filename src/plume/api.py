"""plume in Python: the same verbs as the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.hf.export import export
from plume.hf.importing import import_folder, is_task_folder
from plume.model.language_model import LanguageModel
from plume.model.recipe import Recipe
from plume.recipes import _catalog as catalog
from plume.static.model import WordModel, is_word_model
from plume.static.recipe import StaticRecipe
from plume.train import pretrain as runs
from plume.train import word_vectors
from plume.train.budget import Budget
from plume.train.settings import WordSettings, declared, make_settings, make_word_settings, read_settings
from plume.tuning import options as tuning
from plume.tuning.declared import is_tuned
from plume.tuning.exchange import export_tuned, import_tuned
from plume.tuning.tuned import TunedModel

recipe = catalog.declaration


def load(folder: str | Path, *, device: str = "cpu") -> Any:
    """A model directory: a `LanguageModel` (embed, fill, generate, score, hidden), a `WordModel` (embed, most_similar, analogy, similarity), or
    a `TunedModel` (predict, evaluate)."""
    if is_tuned(Path(folder)):
        return TunedModel.load(folder, device=device)
    return WordModel.load(folder) if is_word_model(Path(folder)) else LanguageModel.load(folder, device=device)


def pretrain(
    recipe: str | Recipe | StaticRecipe,
    *,
    corpus: str | Path | Sequence[str | Path],
    out: str | Path,
    budget: str | None = None,
    objectives: Sequence[str] = (),
    overrides: Sequence[str] = (),
    quiet: bool = False,
    **settings: Any,
) -> Any:
    """Pre-train `recipe` on `corpus` and return the model; everything is in `out`.

    Without a budget a network trains for ten minutes, word vectors for the recipe's epochs. `objectives` replace the recipe's own, with weights
    ("masked_lm=1", "sentence_order=0.5"). `overrides` are parts by dotted path, as --set takes them ("network.depth=4"). `settings` are those
    of the command line: seed, save_every; for networks tokenizer, init, accumulate, precision, device, workers, log_every, shard, recompute,
    tensorboard, lexicon; for word vectors threads.
    """
    start(recipe, corpus=corpus, out=Path(out), budget=budget, objectives=objectives, overrides=overrides, quiet=quiet, **settings)
    return load(out)


def start(
    recipe: str | Recipe | StaticRecipe,
    *,
    corpus: str | Path | Sequence[str | Path],
    out: Path,
    budget: str | None,
    objectives: Sequence[str] = (),
    quiet: bool = False,
    **settings: Any,
) -> str | None:
    """Run it, whichever kind it is; returns the name of the signal that ended it early, if one did."""
    chosen = declared(recipe) if isinstance(recipe, str) else recipe
    if isinstance(chosen, StaticRecipe):
        made = make_word_settings(chosen, corpus=corpus, budget=budget, objectives=objectives, **settings)
        return word_vectors.start(made, out, quiet=quiet).stopped_by
    if settings.pop("threads", None) is not None:
        raise PlumeError(f"threads are for word vectors; {chosen.name} takes those that torch takes (OMP_NUM_THREADS).")
    network = make_settings(chosen, corpus=corpus, budget=budget or "10m", objectives=objectives, **settings)
    return runs.start(network, out, quiet=quiet).outcome.stopped_by


def resume(folder: str | Path, *, budget: str | None = None, quiet: bool = False) -> Any:
    """Go on with a run, from its last checkpoint."""
    go_on(Path(folder), budget=budget, quiet=quiet)
    return load(folder)


def go_on(folder: Path, *, budget: str | None, quiet: bool) -> str | None:
    """As `start`, for a run that is there."""
    settings, more = read_settings(folder), None if budget is None else Budget.parse(budget)
    if isinstance(settings, WordSettings):
        return word_vectors.resume(folder, settings, budget=more, quiet=quiet).stopped_by
    return runs.resume(folder, settings, budget=more, quiet=quiet).outcome.stopped_by


def tune(
    model: str | Path,
    *,
    task: str | Sequence[str],
    train: str | Path | Sequence[str | Path] | None = None,
    dev: str | Path | Sequence[str | Path] | None = None,
    out: str | Path,
    quiet: bool = False,
    **options: Any,
) -> TunedModel:
    """Tune `model`, a model directory, for a task, and return what predicts; everything is in `out`.

    Several tasks at once: task=["ner=train.conll,dev.conll", "topic:classification=train.tsv,dev.tsv"]. `options` are those of the command line:
    mode, epochs, batch, rate, length, seed, from_scratch, metric, patience, text (columns), label (column), crf, budget, overrides, device …
    """
    tuning.start_from_options(Path(model), task=task, train=train, dev=dev, out=Path(out), quiet=quiet, **options)
    return TunedModel.load(out)


def import_hf(folder: str | Path, *, out: str | Path) -> LanguageModel | TunedModel:
    """A Hugging Face directory as a plume model directory; one with a task's head as a tuned model."""
    if is_task_folder(Path(folder)):
        return import_tuned(Path(folder), Path(out))
    imported = import_folder(Path(folder), Path(out))
    return LanguageModel(imported.model, imported.tokenizer)


def export_hf(folder: str | Path, *, out: str | Path, task: str | None = None) -> None:
    """A plume model directory as a Hugging Face directory; a tuned one with the head of its task, or of the one that is named."""
    model = load(folder)
    if isinstance(model, TunedModel):
        export_tuned(model, Path(out), task=task)
        return
    export(model.model, model.tokenizer, Path(out))
