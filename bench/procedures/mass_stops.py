"""Does MASS learn to stop? How often its targets hold the token that closes a text, and how often a short-trained model ends by itself.

The authors' code (MASS-unsupNMT, restricted_mask_sent) hides one span of round(half) of a row of L tokens, at any place but the first: at the end,
over the closing token, in 20% of the rows, and in 60% anywhere, so that the closing token is asked for in 0.2 + 0.6 / (L - round(L / 2)) of them.

    python bench/procedures/mass_stops.py CORPUS [--batches 400] [--train 2m --prompts 100]

`--train` pre-trains mass/tiny for so many tokens or minutes, lets it go on with the beginnings of texts, and counts those that end before
the limit: where a limit twice as high changes nothing.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from pathlib import Path

import numpy as np

import plume
from plume.core.part import replace
from plume.data.corpus import Corpus
from plume.data.loader import Cursor
from plume.data.store import build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.train.feeding import make_reader


def closing_share(length: int) -> float:
    """How often the authors' procedure hides the closing token of a row of so many tokens; one of three hides both that it may hide."""
    places = length - round(length / 2)
    return 1.0 if places == 1 else 0.2 + 0.6 / places


def count_targets(corpus: Path, scratch: Path, batches: int) -> None:
    recipe = plume.recipe("mass/tiny")
    tokenizer = train_tokenizer(Corpus(corpus), recipe.tokenizer, recipe.format)
    stores = build_stores(Corpus(corpus), tokenizer, words=recipe.words, cache=scratch / "cache")
    recipe = replace(recipe, training=replace(recipe.training, length=128))
    end = tokenizer.id("</s>")
    targets = closing = rows = closed = text = 0
    expected = 0.0
    for number in range(batches):
        if number % 50 == 0:  # a row's chances are drawn by seed and number: several seeds, or the first rows of all corpora fare alike
            reader, cursor = make_reader(stores.train, recipe, tokenizer, seed=number, rows=32), Cursor()
        batch = reader.batch(cursor)
        cursor = reader.following(cursor)
        (target,) = batch.labels.values()
        source, width = batch.source, batch.tokens.shape[1]
        length = np.full(len(source.tokens), source.tokens.shape[1]) if source.length is None else source.length
        targets, closing = targets + len(target.value), closing + int((target.value == end).sum())
        rows, closed = rows + len(length), closed + len(set((target.index[target.value == end] // width).tolist()))
        text += int(length.sum())
        expected += sum(closing_share(size) for size in length.tolist())
    print(f"rows {rows:,}  targets {targets:,}  = {targets / text:.4f} of the tokens (paper: 0.5)")
    print(f"targets that are </s>: {closing:,} of {targets:,} = {closing / targets:.5f}")
    print(f"rows that ask for </s>: {closed / rows:.4f} (the authors' procedure on rows of these lengths: {expected / rows:.4f})")


def count_endings(corpus: Path, scratch: Path, budget: str, prompts: int) -> None:
    model = plume.pretrain("mass/tiny", corpus=corpus, out=scratch / "run", budget=budget, quiet=True)
    documents = itertools.islice(Corpus(corpus).documents(), prompts)
    beginnings = ["".join(document.paragraphs)[:100].rsplit(" ", 1)[0] for document in documents]
    for greedy in (True, False):
        ended, sizes = 0, []
        for prompt in beginnings:
            short, long = (model.generate(prompt, max_tokens=limit, greedy=greedy) for limit in (100, 200))
            ended += short == long
            sizes.append(len(model.tokenizer.encode([short])[0]) - len(model.tokenizer.encode([prompt])[0]))
        print(
            f"{'greedy' if greedy else 'sampled'}: {ended} of {len(beginnings)} end before the limit; median {np.median(sizes):.0f} tokens"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--batches", type=int, default=400)
    parser.add_argument("--train", help="a budget, such as 2m or 2e6tokens")
    parser.add_argument("--prompts", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        count_targets(options.corpus, Path(scratch), options.batches)
        if options.train:
            count_endings(options.corpus, Path(scratch), options.train, options.prompts)


if __name__ == "__main__":
    main()
