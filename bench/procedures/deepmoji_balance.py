"""DeepMoji's classes: how often each emoji is asked for in training, and what balancing does to texts that are not balanced.

    python bench/procedures/deepmoji_balance.py tweets.txt --test more_tweets.txt [--budget 600steps] [--set training.peak=1e-3 …]

Both files hold a text with its emoji a line.
The paper (arXiv:1708.00524; its authors in bfelbo/DeepMoji, issue 22) repeats the texts of rarer emoji until all are equally
frequent: each of K emoji has a share of 1/K of the rows. Counted are the answers in the batches that the loop is given, not the plan. Then
two models, balanced and not, answer the test texts, each of which is asked once for each of its emoji. A model that was shown all emoji alike
often does not know which are rare: `with shares` multiplies its probabilities by the emoji's shares in the training file (the files' lines
are counted here), which makes its loss comparable. The baselines are guessing all alike, ln K, and guessing by those shares.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import torch

import plume
from plume.core.batch import Batch
from plume.data.corpus import Corpus, CorpusKind
from plume.data.loader import Cursor
from plume.data.store import build_stores
from plume.text.emoji import emoji_types, without_emoji
from plume.train.feeding import make_reader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument("--recipe", default="deepmoji/tiny")
    parser.add_argument("--budget", default="600steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    given = parser.parse_args()
    counts = Counter(kind for line in given.corpus.read_text(encoding="utf-8").splitlines() for kind in emoji_types(line))
    for balanced in (True, False):
        with tempfile.TemporaryDirectory() as scratch:
            overrides = [f"layout.balanced={balanced}", *given.overrides]
            options = {
                "corpus": given.corpus,
                "out": Path(scratch) / "run",
                "budget": given.budget,
                "overrides": overrides,
                "seed": given.seed,
            }
            model = plume.pretrain(given.recipe, quiet=True, **options)
        print(f"{'balanced' if balanced else 'as it is'}: {shares(model, given.corpus)}")
        measure(model, given.corpus, given.test, counts)


def shares(model, corpus: Path) -> str:
    """Of each answer in an epoch's batches."""
    stores = build_stores(Corpus(corpus, kind=CorpusKind.EMOJI), model.tokenizer, words=model.recipe.words)
    reader = make_reader(stores.train, model.recipe, model.tokenizer, seed=0)
    answers = [reader.batch(Cursor(step=step)).labels["emoji_prediction"].value for step in range(len(reader.plan(0)[1]))]
    share = np.bincount(np.concatenate(answers)) / sum(map(len, answers))
    return f"{sum(map(len, answers)):,} rows an epoch, shares {share.min():.4f} to {share.max():.4f}; 1/K is {1 / len(share):.4f}"


@torch.no_grad()
def measure(model, corpus: Path, test: Path, counts: Counter[str]) -> None:
    labels = build_stores(Corpus(corpus, kind=CorpusKind.EMOJI), model.tokenizer, words=model.recipe.words).train.labels
    prior = torch.log(torch.tensor([counts[label] for label in labels], dtype=torch.float) / sum(counts[label] for label in labels))
    head = model.model.head("emoji_prediction")
    scores, answers = [], []
    for line in test.read_text(encoding="utf-8").splitlines():
        ids = model.tokenizer.encode([without_emoji(line)])[0]
        kinds = [labels.index(kind) for kind in emoji_types(line) if kind in labels]
        framed = torch.tensor([model.abilities.frame(ids)])
        if not kinds or not ids:
            continue
        states = model.model.encode(Batch(tokens=framed)).last
        logits = head.logits(head.pool(states, torch.tensor([framed.shape[1]])))[0, : len(labels)]
        scores += [logits] * len(kinds)
        answers += kinds
    answer, alone = torch.tensor(answers), torch.stack(scores)
    for name, value in (("alone", alone), ("with shares", alone + prior)):
        if name == "with shares" and not model.recipe.layout.balanced:  # it knows them
            continue
        loss = torch.nn.functional.cross_entropy(value, answer)
        best = (value.topk(5).indices == answer[:, None]).float()
        right, among = best[:, 0].mean(), best.sum(1).mean()
        print(f"  {name:12} {len(answer):,} answers: loss {loss:.3f}, right {right:.1%}, among five {among:.1%}")
    print(f"  guessing: all alike {math.log(len(labels)):.3f}, by shares {-prior[answer].mean():.3f}")


if __name__ == "__main__":
    main()
