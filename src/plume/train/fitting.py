"""What a recipe needs of a corpus beyond its text: phrases and entities to hide whole, vectors for its languages, classes for its labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus, CorpusKind
from plume.data.layout import PairLabel
from plume.data.lexicon import Entry, UnitKind, mark_units, read_lexicon, write_lexicon
from plume.data.phrases import lexicon_for
from plume.data.store import Stores
from plume.model.recipe import Recipe
from plume.text.tokenizer import Tokenizer

PHRASES = "phrases.txt"  # in the run's folder, to look at, to resume with, and to edit for another run's --lexicon


def find_units(
    recipe: Recipe, stores: Stores, tokenizer: Tokenizer, *, corpus: Corpus, folder: Path, lexicon: str | None
) -> tuple[list[Entry], str | None]:
    """For recipes that hide phrases (ERNIE): mark them in the stores. Returns the entries and a sentence about them.

    They come from the run's own folder where it is resumed, else from the user's lexicon, else they are mined from the corpus.
    """
    if not recipe.needs_units:
        if lexicon is not None:
            raise PlumeError(f"{recipe.name} hides no phrases or entities, so it has no use for a lexicon: leave --lexicon out.")
        return [], None
    kept = folder / PHRASES
    entries = read_lexicon(kept) if kept.exists() else lexicon_for(corpus, None if lexicon is None else Path(lexicon))
    for store in (stores.train, stores.held_out):
        store.units = mark_units(store, entries, tokenizer)
    if not entries:
        return [], "no phrases were found in this corpus: whole words are hidden instead. A list of your own helps: --lexicon FILE"
    units = stores.train.units
    entities = sum(entry.kind is UnitKind.ENTITY for entry in entries)
    joined = [1 - units[kind.value].mean() / max(stores.train.word_start.mean(), 1e-9) for kind in UnitKind]
    words = (
        f"{len(entries) - entities:,} phrases and {entities:,} entities {'in the lexicon' if lexicon is not None else 'found in the corpus'}; "
        f"they join {joined[0]:.1%} and {joined[1]:.1%} of the words to the one before"
    )
    if np.array_equal(units[UnitKind.PHRASE.value], units[UnitKind.ENTITY.value]):
        words += (
            ". No entity is known, so the entity stage hides the same phrases again: name some in a list of your own (--lexicon FILE, "
            "an entry a line, a tab, entity)"
        )
    return entries, words


def save_units(folder: Path, entries: list[Entry]) -> None:
    if entries:
        write_lexicon(folder / PHRASES, entries)


def refuse_misfit(recipe: Recipe, stores: Stores) -> None:
    """Before anything is built: more languages or labels than the network has places for."""
    languages = stores.train.languages
    if recipe.corpus is CorpusKind.PAIRS and 0 < recipe.embedding.segments < len(languages):
        raise PlumeError(
            f"The corpus has {len(languages)} languages ({', '.join(languages[:10])}), and {recipe.name}/{recipe.size} has vectors for "
            f"{recipe.embedding.segments}: add --set embedding.segments={len(languages)}"
        )
    for objective in recipe.objectives:
        classes = getattr(objective.head, "classes", None)
        if objective.pair_label is PairLabel.DOCUMENT and classes is not None and classes < len(stores.train.labels):
            raise PlumeError(
                f"The corpus has {len(stores.train.labels)} labels, and {objective.name} tells {classes} apart: leave out or join "
                "the rarest ones."
            )
