"""Are the two texts of UniLM's sequence-to-sequence rows one contiguous text (arXiv:1905.03197 §2.3), and can [SEP] behind the second be asked for?

The rows of real batches are looked up in the corpus itself: each text, with its hidden tokens put back, is searched for in the ids of all documents,
and a row counts as adjacent where its two texts follow each other without a gap. Also counted for the bidirectional rows, where half are random.

    python bench/procedures/unilm_pairs.py CORPUS [--batches 40]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import plume
from plume.data.corpus import Corpus
from plume.data.loader import Cursor
from plume.data.store import build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.train.feeding import make_reader


def restored(batch: object) -> list[list[int]]:
    """The rows of a batch with the hidden tokens put back."""
    tokens = np.array(batch.tokens)  # type: ignore[attr-defined]
    target = next(target for name, target in batch.labels.items() if name != "next_sentence")  # type: ignore[attr-defined]
    tokens.ravel()[target.index] = target.value
    length = batch.length  # type: ignore[attr-defined]
    return [row[: len(row) if length is None else length[number]].tolist() for number, row in enumerate(tokens)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--batches", type=int, default=40)
    options = parser.parse_args()
    recipe = plume.recipe("unilm/tiny")
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Corpus(options.corpus)
        tokenizer = train_tokenizer(corpus, recipe.tokenizer, recipe.format)
        store = build_stores(corpus, tokenizer, words=recipe.words, cache=Path(scratch) / "cache").train
        whole = np.asarray(store.tokens).astype(np.uint32).tobytes()  # separators between documents stand in it too

        def found(ids: list[int]) -> bool:
            """Does the corpus hold this text? Byte strings are searched at whole tokens only."""
            sought, place = np.array(ids, np.uint32).tobytes(), -1
            while (place := whole.find(sought, place + 1)) >= 0:
                if place % 4 == 0:
                    return True
            return False

        for kind in recipe.kinds:
            reader, cursor = make_reader(store, recipe, tokenizer, seed=0, rows=32, kind=kind), Cursor()
            rows = adjacent = ends = targets = 0
            begin, separator = tokenizer.id("[CLS]"), tokenizer.id("[SEP]")
            for _ in range(options.batches):
                batch = reader.batch(cursor)
                cursor = reader.following(cursor)
                target = next(target for name, target in batch.labels.items() if name != "next_sentence")
                targets, ends = targets + len(target.value), ends + int((target.value == separator).sum())
                for row in restored(batch):
                    texts = [number for number in row if number not in (begin, separator)]
                    rows, adjacent = rows + 1, adjacent + found(texts)
            print(
                f"{kind.name}: {adjacent / rows:.4f} of {rows:,} rows are one contiguous text; [SEP] is {ends / targets:.5f} of the targets"
            )


if __name__ == "__main__":
    main()
