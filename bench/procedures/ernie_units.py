"""ERNIE's three stages: how much is hidden as one unit in each, and how good the names are that the third one hides.

    python bench/procedures/ernie_units.py corpus.jsonl
    python bench/procedures/ernie_units.py --gold ner.txt

For each stage the batches that training is given are read: units a token (1: every token for itself), and how many tokens stand side by side
where something is hidden. The paper's stages (arXiv:1904.09223 §3.2) hide single characters or word pieces, then phrases, then entities: the
third must differ from the second. With --gold (CoNLL: a character and its BIO tag a line, a blank line after a sentence) the sentences of
that file are the corpus, and what the entity stage would hide whole is held against the gold spans of two characters and more.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path

import numpy as np

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus
from plume.data.loader import Cursor
from plume.data.phrases import lexicon_for
from plume.data.store import build_stores
from plume.data.train_tokenizer import corpus_tokenizer
from plume.recipes import _catalog as catalog
from plume.text.languages import has_han
from plume.train.feeding import make_reader
from plume.train.fitting import find_units


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--gold", type=Path)
    parser.add_argument("--batches", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        gold = sentences(given.gold) if given.gold else {}
        text = given.corpus or Path(scratch) / "gold.txt"
        if not given.corpus:
            text.write_text("\n\n".join(gold) + "\n", encoding="utf-8")
        measure(Corpus(text), Path(scratch), gold, given.batches)


def sentences(path: Path) -> dict[str, set[tuple[int, int]]]:
    """Each sentence and where its names of two characters and more stand."""
    found = {}
    for filled, lines in itertools.groupby(path.read_text(encoding="utf-8").splitlines(), lambda line: bool(line.strip())):
        pairs = [line.split() for line in lines if filled]
        tags = [pair[-1][0] for pair in pairs] + ["O"]
        begins = [place for place, tag in enumerate(tags) if tag == "B"]
        ends = [next(place for place in range(begin + 1, len(tags)) if tags[place] != "I") for begin in begins]
        if pairs:
            found["".join(pair[0] for pair in pairs)] = {(a, b) for a, b in zip(begins, ends, strict=True) if b - a > 1}
    return found


def measure(corpus: Corpus, scratch: Path, gold: dict[str, set[tuple[int, int]]], batches: int) -> None:
    recipe = catalog.recipe("ernie/tiny")
    tokenizer = corpus_tokenizer(corpus, recipe.tokenizer, recipe.format)
    stores = build_stores(corpus, tokenizer, words=recipe.words)
    started = time.process_time()
    entries = lexicon_for(corpus, cache=scratch / "cache")
    spent = time.process_time() - started
    print(f"{len(entries):,} phrases and names of {corpus.census().characters:,} characters in {spent:.1f} s of processor time")
    print(find_units(recipe, stores, tokenizer, corpus=corpus, folder=scratch, lexicon=None)[1])
    for kind in recipe.kinds:
        reader = make_reader(stores.train, recipe, tokenizer, seed=0, kind=kind)
        plan, order = reader.plan(0)
        tokens = units = hidden = runs = 0
        for step in range(min(batches, len(order))):
            rows = reader.rows_of(plan, order[step])
            begins = rows.units.get(kind.name.removesuffix("_masking"), np.ones_like(rows.special))
            tokens, units = tokens + int((~rows.special).sum()), units + int((begins & ~rows.special).sum())
            batch = reader.batch(Cursor(step=step))
            flags = np.zeros(rows.tokens.shape, bool).ravel()
            flags[batch.labels[kind.name].index] = True
            flags = flags.reshape(rows.tokens.shape)
            hidden, runs = hidden + int(flags.sum()), runs + int((flags & ~np.pad(flags, ((0, 0), (1, 0)))[:, :-1]).sum())
        print(f"{kind.name:16} {units / tokens:.4f} units a token; {hidden / runs:.2f} hidden tokens side by side")
    if gold:
        print(agreement(stores.train, tokenizer, gold))


def agreement(store, tokenizer, gold: dict[str, set[tuple[int, int]]]) -> str:
    """Of the sentences that their tokens spell as they stand."""
    spelled, right, found, wanted = tokenizer.tokens(), 0, 0, 0
    bounds = np.asarray(store.document_start)
    for first, last in itertools.pairwise(bounds.tolist()):
        start, end = int(store.sentence_start[first]), int(store.sentence_end[last - 1])
        pieces = [spelled[token].removeprefix("##") for token in store.tokens[start:end].tolist()]
        if (text := "".join(pieces)) in gold:
            place = np.cumsum([0, *map(len, pieces)])  # in characters
            begins = place[np.append(np.flatnonzero(store.units["entity"][start:end]), end - start)]
            own = {(a, b) for a, b in itertools.pairwise(begins.tolist()) if b - a > 1 and has_han(text[a:b])}
            right, found, wanted = right + len(own & gold[text]), found + len(own), wanted + len(gold[text])
    if not found or not wanted:
        raise PlumeError("No sentence of the gold file is in the corpus as it stands, or none has a name.")
    return f"names: precision {right / found:.3f}, recall {right / wanted:.3f} ({wanted:,} gold names, {found:,} found)"


if __name__ == "__main__":
    main()
