"""Static or dynamic masks: how many different versions of a text a run sees, and what is hidden in them.

    python bench/procedures/bert_masks.py corpus.txt [--families bert roberta …] [--epochs 20] [--known 0.05] [--set …]

Counted in the batches that the loop is given, for some epochs:

- versions: epochs whose set of examples (tokens shown, places asked, answers) differs from every earlier one's. BERT's authors drew masks and
  pairs ten times (dupe_factor of create_pretraining_data.py), ALBERT's forty, RoBERTa's (arXiv:1907.11692 §4.1) each time anew.
- twice: the share of examples that are seen in more than one epoch.
- hidden: the share of tokens asked for, special ones counted in (the paper: 15%), and of those how many show the mask, another token, and
  themselves (80/10/10).
- unknown: of the tokens that the tokenizer does not know, how many are hidden. With --known the tokenizer is trained on that share of the text
  only, so that there are some. The authors' code spares [CLS] and [SEP] alone, so this is about the share of all others that are hidden.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from plume.core.batch import Batch
from plume.data.corpus import Corpus
from plume.data.loader import Cursor, Reader
from plume.data.store import build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.recipes import _catalog as catalog
from plume.train.feeding import make_reader
from plume.train.settings import with_changes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--families", nargs="+", default=["bert", "bert-wwm", "albert", "roberta", "roberta-wwm"])
    parser.add_argument("--size", default="tiny")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--known", type=float, default=0.05)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    given = parser.parse_args()
    print("family        versions  twice  hidden   mask other  same  unknown hidden / of")
    for family in given.families:
        reader = reader_of(given, f"{family}/{given.size}")
        seen: Counter[int] = Counter()
        versions, count = set(), Counter[str]()
        for epoch in range(given.epochs):
            examples = {one for batch in batches(reader, epoch) for one in tally(batch, reader, count)}
            versions.add(frozenset(examples))
            seen.update(examples)
        asked = count["asked"]
        shares = [count[name] / asked for name in ("mask", "other", "same")]
        twice = np.mean([times > 1 for times in seen.values()])
        unknown = f"{count['unknown hidden'] / max(count['unknown'], 1):14.3f} / {count['unknown']:,}"
        print(
            f"{family:13} {len(versions):3} of {given.epochs:2} {twice:6.3f} {asked / count['tokens']:7.4f}",
            *(f"{s:6.3f}" for s in shares),
            unknown,
        )


def reader_of(given: argparse.Namespace, name: str) -> Reader:
    recipe = with_changes(catalog.recipe(name), objectives=[], overrides=given.overrides)
    corpus = Corpus(given.corpus)
    sample = int(given.known * corpus.census().bytes)
    tokenizer = train_tokenizer(corpus, recipe.tokenizer, recipe.format, sample=sample)
    return make_reader(build_stores(corpus, tokenizer, words=recipe.words).train, recipe, tokenizer, seed=0)


def batches(reader: Reader, epoch: int) -> list[Batch]:
    steps = len(reader.plan(epoch)[1])
    return [reader.batch(Cursor(epoch=epoch, step=step)) for step in range(steps)]


def tally(batch: Batch, reader: Reader, count: Counter[str]) -> list[int]:
    """Count what the batch shows and asks; a number for each of its rows, the same for the same example."""
    target, shown = batch.labels["masked_lm"], batch.tokens.ravel()
    text = shown.copy()
    text[target.index] = target.value
    at = shown[target.index]
    count["tokens"] += int(batch.tokens.size if batch.length is None else batch.length.sum())
    count["asked"] += len(at)
    count["mask"] += int((at == reader.tokenizer.mask).sum())
    count["same"] += int((at == target.value).sum())
    count["other"] += int(((at != reader.tokenizer.mask) & (at != target.value)).sum())
    count["unknown"] += int((text == reader.tokenizer.unknown).sum())
    count["unknown hidden"] += int((target.value == reader.tokenizer.unknown).sum())
    rows, time = batch.tokens.shape
    lengths = np.full(rows, time) if batch.length is None else batch.length
    asked = np.zeros(rows * time, np.int64)
    asked[target.index] = 1 + target.value
    pairs = np.stack([batch.tokens, asked.reshape(rows, time)])
    return [hash(pairs[:, row, :length].tobytes()) for row, length in enumerate(lengths)]


if __name__ == "__main__":
    main()
