"""ELMo's two directions: how much of the text each predicts in an epoch, and what each has learned after some steps.

The paper maximises the likelihood of the same text in both directions (arXiv:1802.05365 §3.1): each must predict all of it. Targets are counted by
their words in the batches of an epoch; the losses are those of each direction alone on a text of its own, read as one stream.

    python bench/procedures/elmo_directions.py --corpus train.jsonl --held-out dev.jsonl [--steps 260] [--megabytes 0.3]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from _stream import beginning, stream_loss, words_of

import plume
from plume.data.corpus import Corpus
from plume.data.loader import Cursor, Reader
from plume.data.store import Store, build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.train.feeding import make_reader


def main() -> None:
    given = arguments()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        corpus = beginning(given.corpus, given.megabytes, Path(scratch))
        recipe = plume.recipe(given.recipe)
        tokenizer = train_tokenizer(Corpus(corpus), recipe.tokenizer, recipe.format)
        store = build_stores(Corpus(corpus), tokenizer, words=recipe.words, cache=Path(scratch) / "cache").train
        reader = make_reader(store, recipe, tokenizer, seed=given.seed)
        print(
            f"{recipe.name}/{recipe.size}, {len(store.tokens):,} words, batches of {reader.rows} rows; share predicted in an epoch (paper: 1)"
        )
        for way, share in predicted(reader, store).items():
            print(f"  {way:9} {share:.3f}")
        if given.steps:
            out = Path(scratch) / "model"
            model = plume.pretrain(recipe, corpus=corpus, out=out, budget=f"{given.steps}steps", seed=given.seed, quiet=True)
            words = words_of(given.held_out, model, given.words, Path(scratch))
            print(f"held-out loss after {given.steps} steps, {len(words):,} words")
            for way in ("onward", "backward"):
                print(f"  {way:9} {stream_loss(model.model, words, backward=way == 'backward'):.3f}")


def predicted(reader: Reader, store: Store) -> dict[str, float]:
    """By direction, the share of the text's words (each counted as often as it stands there) that an epoch asks for."""
    text = np.bincount(store.tokens, minlength=reader.tokenizer.size)
    asked = {way: np.zeros_like(text) for way in ("onward", "backward")}
    for step in range(len(reader.plan(0)[1])):
        batch = reader.batch(Cursor(step=step))
        (target,) = batch.labels.values()
        turned = batch.backward[target.index // batch.tokens.shape[1]]
        asked["onward"] += np.bincount(target.value[~turned], minlength=len(text))
        asked["backward"] += np.bincount(target.value[turned], minlength=len(text))
    return {way: float(np.minimum(count, text).sum() / text.sum()) for way, count in asked.items()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--held-out", help="with --steps: a text that is not in the corpus")
    parser.add_argument("--megabytes", type=float, default=0.3, help="of the corpus")
    parser.add_argument("--words", type=int, default=20_000, help="of the held-out text")
    parser.add_argument("--recipe", default="elmo/tiny")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.steps and not given.held_out:
        parser.error("--steps needs --held-out, a text to measure on")
    return given


if __name__ == "__main__":
    main()
