"""What a recipe needs of a corpus beyond its text: phrases and entities to hide whole, vectors for its languages, classes for its labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.knowledge import Knowledge, arrays_of, needs_knowledge
from plume.data.corpus import Corpus, CorpusKind
from plume.data.layouts.carried import MENTIONS, NONE
from plume.data.layouts.layout import PairLabel
from plume.data.lexicon import LexiconEntry, UnitKind, mark_units, read_lexicon, write_lexicon
from plume.data.own_documents import mark_own_documents
from plume.data.phrases import lexicon_for
from plume.data.salient import mark_salient, salient_entries
from plume.data.store import Store, Stores
from plume.kb.knowledge import open_knowledge
from plume.model.networks.evidence import Evidence
from plume.model.recipe import Recipe
from plume.model.resources import KNOWLEDGE, LANGUAGES, read_knowledge
from plume.model.use.looking_up import evidence_of
from plume.noise.salient import IN_SALIENT
from plume.text.known_languages import Languages
from plume.text.languages import count_scripts, scripts_of
from plume.text.tokenizer import Tokenizer
from plume.train.settings import Settings

_SENTENCES = 1 << 16  # whose tokens are counted at once
PHRASES = "phrases.txt"  # in the run's folder, to look at, to resume with, and to edit for another run's --lexicon


def find_units(
    recipe: Recipe, stores: Stores, tokenizer: Tokenizer, *, corpus: Corpus, folder: Path, lexicon: str | None
) -> tuple[list[LexiconEntry], str | None]:
    """For recipes that hide phrases (ERNIE): mark them in the stores. Returns the entries and a sentence about them.

    They come from the run's own folder where it is resumed, else from the user's lexicon, else they are mined from the corpus.
    """
    if recipe.needs_salient:
        return _find_salient(stores, tokenizer, corpus=corpus, kept=folder / PHRASES, lexicon=lexicon)
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


def _find_salient(
    stores: Stores, tokenizer: Tokenizer, *, corpus: Corpus, kept: Path, lexicon: str | None
) -> tuple[list[LexiconEntry], str | None]:
    """Names and dates, of which one a sentence is hidden (REALM)."""
    entries = read_lexicon(kept) if kept.exists() else salient_entries(corpus, None if lexicon is None else Path(lexicon))
    for store in (stores.train, stores.held_out):
        store.units = store.units | mark_salient(store, entries, tokenizer)
    inside = float(stores.train.units[IN_SALIENT].mean())
    if not inside:
        return [], "no names or dates were found in this corpus: single words are hidden instead. A list of your own helps: --lexicon FILE"
    where = "in the lexicon and the text" if lexicon is not None else "found in the corpus"
    return entries, f"{len(entries):,} names and dates {where}; they cover {inside:.1%} of the tokens"


def run_evidence(settings: Settings, corpus: Corpus, stores: Stores, tokenizer: Tokenizer) -> tuple[Evidence | None, str]:
    """Of a run, and a sentence about it; the corpus' own documents are marked in its stores. Without documents given, the corpus has them."""
    recipe, given = settings.recipe, settings.documents
    if not recipe.assembly.retrieves:
        if given:
            raise PlumeError(f"{recipe.name} looks nothing up, so it has no use for documents: leave --documents out.")
        return None, ""
    if settings.shard:
        raise PlumeError(f"{recipe.name} makes its index between two steps, where sharded weights are in parts: leave --fsdp out.")
    evidence = evidence_of(recipe, given or corpus.files, tokenizer)
    shares = [mark_own_documents(store, evidence.blocks) for store in (stores.train, stores.held_out)]
    own = f"{shares[0]:.0%} of the corpus' documents are among them, and none is offered to its own text"
    documents = len(evidence.blocks.titles)
    return (
        evidence,
        f"looks things up in {documents:,} documents, {len(evidence):,} blocks{'' if given else ' of the corpus itself'}; {own}",
    )


def run_knowledge(settings: Settings, folder: Path) -> Knowledge | None:
    """For recipes that are built for a knowledge base: the run's own where it is resumed, else the user's, else that of the model it starts from."""
    recipe = settings.recipe
    if not needs_knowledge(recipe):
        if settings.kb is not None:
            raise PlumeError(f"{recipe.name} is not built for a knowledge base, so it has no use for one: leave --kb out.")
        return None
    initial = None if settings.initial is None else Path(settings.initial)
    before = read_knowledge(initial) if initial is not None and (initial / KNOWLEDGE).exists() else None
    if (folder / KNOWLEDGE).exists():
        return read_knowledge(folder)
    if settings.kb is None:
        if before is None:
            raise PlumeError(
                f"{recipe.name} is built for one knowledge base: name it with --kb kb/ (plume kb build makes one of triples), and a corpus "
                "that is linked to it (plume kb link)."
            )
        return before
    found = open_knowledge(Path(settings.kb), arrays_of(recipe), linked=settings.corpus)
    if before is not None:
        before.refuse_other(found, str(initial))
        return found.as_known_to(before)  # it has no vector for what is newer
    return found


def mentions_found(recipe: Recipe, stores: Stores, knowledge: Knowledge | None) -> str | None:
    """How much of the text is linked, and the loss on held-out mentions of who knows only how frequent entities are."""
    if knowledge is None or MENTIONS not in recipe.carries:
        return None
    counts = []
    for store in (stores.train, stores.held_out):
        ids = np.asarray(store.named[MENTIONS.name])
        counts.append(np.bincount(ids[(ids != NONE) & (ids != np.append(NONE, ids[:-1]))], minlength=len(knowledge.entities)))
    known, asked = counts
    words = f"{known.sum():,} mentions of {np.count_nonzero(known):,} of {len(knowledge.entities):,} entities"
    if asked.sum():
        loss = -(asked / asked.sum()) @ np.log((known + 1) / (known + 1).sum())
        words += f"; who only knows how frequent each is pays {loss:.2f} nats on those held out"
    return words


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


def refuse_misfit(recipe: Recipe, stores: Stores, knowledge: Knowledge | None = None) -> None:
    """Before anything is built: more languages or labels than the network has places for, or mentions of what a knowledge base does not have."""
    if knowledge is not None and MENTIONS in recipe.carries:
        _refuse_mentions(recipe, stores.train.named[MENTIONS.name], knowledge)
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


def _refuse_mentions(recipe: Recipe, mentions: NDArray[np.int64], knowledge: Knowledge) -> None:
    largest = int(mentions.max()) if len(mentions) else NONE
    if largest == NONE:
        raise PlumeError(
            f"The corpus mentions no entity, and {recipe.name} learns from mentions: link it first (plume kb link corpus.jsonl --kb "
            f"{knowledge.path} --out linked.jsonl)."
        )
    if largest >= len(knowledge.entities):
        raise PlumeError(
            f"The corpus mentions entity {largest}, and {knowledge.path} has {len(knowledge.entities):,}: it was linked to another "
            "knowledge base. Link it to this one (plume kb link)."
        )
