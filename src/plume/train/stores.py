"""From a corpus to its tokenizer and its store: made by the first process, found ready by the others."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from plume.data.corpus import Corpus
from plume.data.layouts.labelled import CodedBlocks
from plume.data.store import Store, Stores, build_stores
from plume.data.train_tokenizer import corpus_tokenizer
from plume.model.checkpoint import TOKENIZER
from plume.model.recipe import Recipe
from plume.text.sentences import cut_warning
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words
from plume.train.continuing.start import StartingPoint
from plume.train.distributed import Processes
from plume.train.settings import Settings


def read_stores(corpus: Corpus, tokenizer: Tokenizer, *, words: Words, quiet: bool) -> Stores:
    """Build the store, or find it in the cache, with a bar that shows how far it is."""
    columns = (TextColumn("tokenizing"), BarColumn(), TaskProgressColumn())
    console = Console(stderr=True, quiet=quiet)
    with Progress(*columns, console=console, disable=quiet or not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task("", total=corpus.census().characters)
        return build_stores(corpus, tokenizer, words=words, cache=None, progress=lambda done: bar.update(task, completed=done))


def run_tokenizer(
    settings: Settings, folder: Path, corpus: Corpus, processes: Processes, *, start: StartingPoint = StartingPoint(), quiet: bool
) -> Tokenizer:
    """The run's own when resuming, a given one, its start's, or one trained here by the first process and read by the others."""
    form = settings.recipe.format
    own = folder / TOKENIZER
    resumed = own.exists()
    processes.wait()  # all have looked before the first writes one: a late process must not take that for the run's own
    if resumed:
        return Tokenizer.load(own, format=form)
    if settings.tokenizer:
        return Tokenizer.load(Path(settings.tokenizer), format=form)
    if start.tokenizer is not None:
        return Tokenizer(start.tokenizer.backend, format=form, source=str(settings.initial))
    if processes.first:
        console = Console(stderr=True, quiet=quiet)
        with console.status(f"training a {type(settings.recipe.tokenizer).__name__} tokenizer …"):
            coded = any(isinstance(kind.layout, CodedBlocks) for kind in settings.recipe.kinds)
            trained = corpus_tokenizer(corpus, settings.recipe.tokenizer, form, codes=corpus.labels() if coded else ())
        if processes.size > 1:
            trained.save(own)
    processes.wait()
    return trained if processes.first else Tokenizer.load(own, format=form)


def shared_stores(corpus: Corpus, tokenizer: Tokenizer, recipe: Recipe, processes: Processes, *, quiet: bool) -> Stores:
    """Built by the first process; the others find it ready."""
    if not processes.first:
        processes.wait()
    stores = read_stores(corpus, tokenizer, words=recipe.words, quiet=quiet)
    if processes.first:
        processes.wait()
    return stores


def no_sentences_warning(recipe: Recipe, store: Store) -> str | None:
    """Where sentences matter, and the text has none."""
    if not any(kind.layout.reads_sentences for kind in recipe.kinds):
        return None
    return cut_warning(int(store.sentence_continued.sum()), len(store.sentence_continued))
