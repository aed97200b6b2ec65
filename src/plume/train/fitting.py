"""What a recipe needs of a corpus beyond its text: phrases and entities to hide whole, vectors for its languages, classes for its labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus, CorpusKind
from plume.data.layouts.layout import PairLabel
from plume.data.lexicon import LexiconEntry, UnitKind, mark_units, read_lexicon, write_lexicon
from plume.data.phrases import lexicon_for
from plume.data.store import Store, Stores
from plume.model.checkpoint import LANGUAGES
from plume.model.recipe import Recipe
from plume.text.known_languages import Languages
from plume.text.languages import count_scripts, scripts_of
from plume.text.tokenizer import Tokenizer

_SENTENCES = 1 << 16  # whose tokens are counted at once
PHRASES = "phrases.txt"  # in the run's folder, to look at, to resume with, and to edit for another run's --lexicon


def find_units(
    recipe: Recipe, stores: Stores, tokenizer: Tokenizer, *, corpus: Corpus, folder: Path, lexicon: str | None
) -> tuple[list[LexiconEntry], str | None]:
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


def save_units(folder: Path, entries: list[LexiconEntry]) -> None:
    """The phrases and entities that the run hides whole."""
    if entries:
        write_lexicon(folder / PHRASES, entries)


def number_languages(recipe: Recipe, stores: Stores, initial: str | None) -> Languages | None:
    """What the model that a run starts from knows of its languages; the corpus' own are numbered as its vectors are, new ones behind."""
    path = None if initial is None else Path(initial) / LANGUAGES
    if not recipe.languages or not stores.train.languages or path is None or not path.exists():
        return None
    known = Languages.load(path)
    names = tuple(dict.fromkeys([*known.names, *stores.train.languages]))
    for store in (stores.train, stores.held_out):
        number = np.array([names.index(name) for name in store.languages] or [0], np.int64)
        store.sentence_language, store.languages = number[np.asarray(store.sentence_language)], names
    return known


def find_languages(recipe: Recipe, stores: Stores, tokenizer: Tokenizer, before: Languages | None = None) -> Languages | None:
    """For recipes with a vector for each language: their names, and how frequent tokens are in each, by which texts are told apart at use.

    `before` is what was known of them already.
    """
    if not recipe.languages:
        return None
    names = stores.train.languages or ("text",)  # running text is one language
    counts = _counts(stores.train, len(names), tokenizer)
    scripts = list(_scripts(counts, tokenizer))
    if before is not None:
        old = len(before.names)
        scripts[:old] = [found or known for found, known in zip(scripts[:old], before.scripts, strict=True)]
        if before.counts is not None and before.counts.shape[1] == tokenizer.size:
            counts[:old] += before.counts
    return Languages(names=names, scripts=tuple(scripts), counts=counts)


def _counts(store: Store, languages: int, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """[L, V] special tokens apart."""
    counts = np.zeros((languages, tokenizer.size), np.int64)
    for first in range(0, len(store.sentence_start), _SENTENCES):
        some = slice(first, first + _SENTENCES)
        begin, end, language = (np.asarray(part[some]) for part in (store.sentence_start, store.sentence_end, store.sentence_language))
        tokens = np.asarray(store.tokens[begin[0] : end[-1]], np.int64)
        place = np.arange(len(tokens)) + begin[0]
        sentence = np.searchsorted(begin, place, side="right") - 1
        inside = place < end[sentence]  # separators stand between
        flat = language[sentence[inside]] * tokenizer.size + tokens[inside]
        counts += np.bincount(flat, minlength=counts.size).reshape(counts.shape)
    counts[:, tokenizer.special_ids] = 0
    return counts


def _scripts(counts: NDArray[np.int64], tokenizer: Tokenizer) -> tuple[frozenset[str], ...]:
    """That each language is written in, by its tokens."""
    letters: list[Counter[str]] = [Counter() for _ in counts]
    for token, spelling in enumerate(tokenizer.spellings()):
        for script, weight in count_scripts(spelling).items():
            for language in np.flatnonzero(counts[:, token]).tolist():
                letters[language][script] += weight * int(counts[language, token])
    return tuple(frozenset(scripts_of(found)) for found in letters)


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
