"""Words/s and quality of plume's word2vec and fastText beside gensim and fasttext, and of GloVe beside a plain C loop.

Both sides read the same words (cut once, written as lines for the others), with dimension 100, window 5, 5 negatives, 2 threads and the same
least count, and take turns within one run: medians over rounds, the ratio with its spread, and words per second of processor time, which a busy
machine changes less.
Quality: Spearman on similarity files and accuracy on analogies, mean ± standard deviation over seeds, after --epochs epochs of each side.

    python bench/static.py --corpus text.jsonl [--part word2vec|cbow|fasttext|glove|growth] [--rounds 5] [--seeds 3]
        [--similarity pairs.txt …] [--analogy questions-words.txt]
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from static_glove import glove, growth

from plume.static import evaluation
from plume.static.recipe import Architecture, FastText, StaticRecipe, Trainer, Word2Vec
from plume.static.text import Vocabulary, WordText
from plume.static.vectors import WordVectors

THREADS, LEAST = 2, 5
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?|[\u4e00-\u9fff]")


class Cut(NamedTuple):
    vocabulary: Vocabulary
    text: WordText
    lines: Path  # the same words, for the others


class Trained(NamedTuple):
    wall: float
    processor: float
    vectors: WordVectors | None


@dataclass(frozen=True)
class Side:
    name: str
    train: Callable[[Cut, int, int], Trained]  # (corpus, seed, epochs): for speed
    learn: Callable[[Cut, int, int], Trained] | None = None  # for quality, if not the same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="JSONL with a text field, or lines of text")
    parser.add_argument("--part", choices=("word2vec", "cbow", "fasttext", "glove", "growth"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--similarity", type=Path, nargs="*", default=[])
    parser.add_argument("--analogy", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = cut(given.corpus, Path(folder))
        sizes = f"{corpus.text.ids.size:,} words, {len(corpus.vocabulary):,} different"
        print(f"{given.corpus.name}: {sizes}; {THREADS} threads; load {os.getloadavg()[0]:.1f}")
        for part, sides in SIDES.items():
            if given.part in (None, part):
                compare(part, sides, corpus, given)
        if given.part in (None, "glove"):
            glove(corpus.vocabulary, corpus.text, Path(folder), given.rounds)
        if given.part in (None, "growth"):
            growth(corpus.vocabulary, corpus.text)


def cut(path: Path, folder: Path) -> Cut:
    lines = [words for line in _texts(path) if (words := _WORD.findall(line.lower()))]
    counts = collections.Counter(word for line in lines for word in line)
    words = tuple(word for word, count in counts.most_common() if count >= LEAST)
    index = {word: number for number, word in enumerate(words)}
    kept = [known for line in lines if (known := [word for word in line if word in index])]
    (folder / "lines.txt").write_text("\n".join(" ".join(line) for line in kept) + "\n", encoding="utf-8")
    ids = np.array([index[word] for line in kept for word in line], np.int32)
    start = np.concatenate([[0], np.cumsum([len(line) for line in kept])]).astype(np.int64)
    vocabulary = Vocabulary(words=words, counts=np.array([counts[word] for word in words], np.int64))
    return Cut(vocabulary, WordText(ids=ids, start=start), folder / "lines.txt")


def _texts(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield from (json.loads(line)["text"] if path.suffix == ".jsonl" else line).split("\n")


def run(trainer: Trainer, text: WordText, epochs: int) -> Trained:
    trainer.loss(text.part(0, 2))  # compiled before the clock starts
    wall, processor = time.perf_counter(), time.process_time()
    steps = epochs * trainer.pieces
    for step in range(steps):
        epoch, piece = divmod(step, trainer.pieces)
        trainer.train(text, epoch=epoch, piece=piece, progress=step / steps, progress_after=(step + 1) / steps)
    return Trained(time.perf_counter() - wall, time.process_time() - processor, None)


def ours(recipe: StaticRecipe) -> Callable[[Cut, int, int], Trained]:
    def train(corpus: Cut, seed: int, epochs: int) -> Trained:
        trainer = recipe.trainer(corpus.vocabulary, seed=seed, threads=THREADS)
        trained = run(trainer, corpus.text, epochs)
        found = trainer.word_vectors() if isinstance(recipe, FastText) else trainer.vectors()["word"]  # type: ignore[attr-defined]
        return trained._replace(vectors=WordVectors(words=corpus.vocabulary.words, matrix=found))

    return train


def gensim_side(kind: str, **settings: Any) -> Side:
    """Timed with its `corpus_file`, its fastest way. That way each of two threads counts its own words against the whole text, so that the
    learning rate falls half as far within an epoch and jumps at its end; the rate as declared, for quality, it keeps when given sentences."""

    def train(corpus: Cut, seed: int, epochs: int, *, fast: bool) -> Trained:
        from gensim import models

        model = getattr(models, kind)(vector_size=100, window=5, negative=5, min_count=LEAST, workers=THREADS, seed=seed, **settings)
        text = {"corpus_file": str(corpus.lines)} if fast else {"corpus_iterable": models.word2vec.LineSentence(str(corpus.lines))}
        model.build_vocab(**text)
        sizes = {"total_examples": model.corpus_count, "total_words": model.corpus_total_words}
        wall, processor = time.perf_counter(), time.process_time()
        model.train(**text, epochs=epochs, **sizes)
        spent = time.perf_counter() - wall, time.process_time() - processor
        return Trained(*spent, WordVectors(words=tuple(model.wv.index_to_key), matrix=model.wv.vectors))

    return Side("gensim", functools.partial(train, fast=True), functools.partial(train, fast=False))


def facebook(corpus: Cut, seed: int, epochs: int) -> Trained:
    """Its call also reads the text and counts words; a call with one epoch is taken off one with an epoch more. It takes no seed."""
    import fasttext

    def once(count: int) -> tuple[float, float, Any]:
        wall, processor = time.perf_counter(), time.process_time()
        model = fasttext.train_unsupervised(
            str(corpus.lines), model="skipgram", dim=100, ws=5, neg=5, epoch=count, thread=THREADS, minCount=LEAST, verbose=0
        )
        return time.perf_counter() - wall, time.process_time() - processor, model

    empty, full = once(1), once(epochs + 1)
    words = tuple(word for word in full[2].words if word != "</s>")
    vectors = WordVectors(words=words, matrix=np.stack([full[2].get_word_vector(word) for word in words]))
    return Trained(full[0] - empty[0], full[1] - empty[1], vectors)


SIDES = {
    "word2vec": (Side("plume", ours(Word2Vec())), gensim_side("Word2Vec", sg=1, alpha=0.025)),
    "cbow": (
        Side("plume", ours(Word2Vec(architecture=Architecture.CBOW, rate=0.025))),  # gensim's rate, so that quality is comparable
        gensim_side("Word2Vec", sg=0, alpha=0.025),
    ),
    "fasttext": (
        Side("plume", ours(FastText())),
        # gensim's own defaults are word2vec's: fastText's rate, sampling and power are set
        gensim_side("FastText", sg=1, alpha=0.05, sample=1e-4, ns_exponent=0.5, bucket=2_000_000),
        Side("fasttext", facebook),
    ),
}


def compare(part: str, sides: tuple[Side, ...], corpus: Cut, given: argparse.Namespace) -> None:
    print(
        f"\n## {part}\n\n| side | words/s | words/s of processor time | ratio (spread) | ratio of processor time (spread) |\n|---|---|---|---|---|"
    )
    words = corpus.text.ids.size
    found: dict[str, list[Trained]] = {side.name: [] for side in sides}
    for number in range(given.rounds):
        for side in sides:
            found[side.name].append(side.train(corpus, number, 1)._replace(vectors=None))
    for side in sides:
        wall, processor = ([getattr(one, clock) for one in found[side.name]] for clock in ("wall", "processor"))
        row = f"| {side.name} | {words / statistics.median(wall):,.0f} | {words / statistics.median(processor):,.0f} |"
        ratios = [
            [getattr(other, clock) / getattr(own, clock) for own, other in zip(found["plume"], found[side.name], strict=True)]
            for clock in ("wall", "processor")
        ]
        print(row, " | ".join(f"{statistics.median(one):.2f} ({min(one):.2f}–{max(one):.2f})" for one in ratios), "|", flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f}; ratio: how many times faster plume is, median of {given.rounds} rounds of one epoch")
    if given.seeds and (given.similarity or given.analogy):
        quality(sides, corpus, given)


def quality(sides: tuple[Side, ...], corpus: Cut, given: argparse.Namespace) -> None:
    names = [path.stem for path in given.similarity] + ([given.analogy.stem] if given.analogy else [])
    print(f"\n{given.epochs} epochs, {given.seeds} seeds\n\n| side | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    scores: dict[str, list[list[float]]] = {side.name: [] for side in sides}
    for seed in range(given.seeds):
        for side in sides:
            vectors = (side.learn or side.train)(corpus, seed + 1, given.epochs).vectors
            assert vectors is not None
            row = [evaluation.similarity(vectors, path).spearman for path in given.similarity]
            row += [evaluation.analogy(vectors, given.analogy).total.accuracy or 0.0] if given.analogy else []
            scores[side.name].append(row)
    for name, rows in scores.items():
        print(
            f"| {name} |",
            " | ".join(f"{np.mean(column):.4f} ± {np.std(column):.4f}" for column in zip(*rows, strict=True)),
            "|",
            flush=True,
        )


if __name__ == "__main__":
    main()
