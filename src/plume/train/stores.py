"""Building the store, with a bar that shows how far it is."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from plume.data.corpus import Corpus
from plume.data.store import Stores, build_stores
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words


def read_stores(corpus: Corpus, tokenizer: Tokenizer, *, words: Words, quiet: bool) -> Stores:
    columns = (TextColumn("tokenizing"), BarColumn(), TaskProgressColumn())
    console = Console(stderr=True, quiet=quiet)
    with Progress(*columns, console=console, disable=quiet or not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task("", total=corpus.census().characters)
        return build_stores(corpus, tokenizer, words=words, cache=None, progress=lambda done: bar.update(task, completed=done))
