"""word2vec's trainer: learning, statistics of windows, resume, bad input."""

from __future__ import annotations

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import part_from_json
from plume.static import word2vec as module
from plume.static.recipe import Architecture, FastText, GloVe, StaticLoss, StaticRecipe, Trainer, Word2Vec
from plume.static.text import Vocabulary, WordText


def topics(sentences: int = 3000, seed: int = 0) -> tuple[Vocabulary, WordText]:
    """Ten topics of six words; a sentence stays within its topic."""
    generator = np.random.default_rng(seed)
    ids = (generator.integers(0, 10, (sentences, 1)) * 6 + generator.integers(0, 6, (sentences, 8))).astype(np.int64)
    counts = np.bincount(ids.ravel(), minlength=60)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(60, np.int32)
    rank[order] = np.arange(60)
    words = tuple(f"topic{word // 6}word{word % 6}" for word in order)
    return Vocabulary(words=words, counts=counts[order]), WordText(ids=rank[ids].ravel(), start=np.arange(sentences + 1) * 8)


def run(trainer: Trainer, text: WordText, epochs: int, first: int = 0, last: int | None = None) -> None:
    steps = epochs * trainer.pieces
    for step in range(first, steps if last is None else last):
        epoch, piece = divmod(step, trainer.pieces)
        trainer.train(text, epoch=epoch, piece=piece, progress=step / steps, progress_after=(step + 1) / steps)


RECIPES = {
    f"{kind.__name__}-{architecture}-{loss}": kind(architecture=architecture, loss=loss, dimension=24, sample=0.0, rate=0.05, **more)
    for kind, more in ((Word2Vec, {}), (FastText, {"buckets": 200}))
    for architecture in Architecture
    for loss in StaticLoss
}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("threads", [1, 2])
def test_it_learns_more_than_frequencies(recipe: Word2Vec, threads: int) -> None:
    vocabulary, text = topics()
    held_out = topics(300, seed=1)
    mapped = np.array([vocabulary.index[word] for word in held_out[0].words], np.int32)
    other = WordText(ids=mapped[held_out[1].ids], start=held_out[1].start)
    trainer = recipe.trainer(vocabulary, seed=1, threads=threads)
    before = trainer.loss(other)
    run(trainer, text, 6)
    after = trainer.loss(other)
    assert after.baseline == pytest.approx(before.baseline, rel=1e-6)
    assert after.loss < 0.8 * after.baseline
    assert after == trainer.loss(other)  # fixed draws


def test_the_baseline_is_what_frequencies_give() -> None:
    """All words as frequent, all noise the same: one true word against five drawn from 60, whose best score is log(1 / 5)."""
    vocabulary, text = topics()
    even = Vocabulary(words=vocabulary.words, counts=np.full(60, 400))
    measured = Word2Vec(dimension=8, sample=0.0).trainer(even, seed=1, threads=1).loss(text)
    assert measured.baseline == pytest.approx(np.log(6) + 5 * 59 / 60 * np.log(6 / 5), rel=0.005)
    measured = Word2Vec(dimension=8, sample=0.0, loss=StaticLoss.HIERARCHICAL_SOFTMAX).trainer(even, seed=1, threads=1).loss(text)
    assert measured.baseline == pytest.approx(np.log(60), rel=0.01)


@pytest.mark.parametrize("recipe", [Word2Vec(dimension=24, negatives=3), FastText(dimension=24, buckets=99)], ids=["word2vec", "fasttext"])
def test_a_resumed_run_ends_bit_equal(recipe: Word2Vec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PIECE", 200_000)
    vocabulary, text = topics()
    whole = recipe.trainer(vocabulary, seed=4, threads=1)
    assert whole.pieces == 3
    run(whole, text, 2)
    first = recipe.trainer(vocabulary, seed=4, threads=1)
    run(first, text, 2, last=4)
    saved = {name: array.copy() for name, array in first.arrays.items()}
    second = recipe.trainer(vocabulary, seed=9, threads=1)
    second.seed = 4  # the first values come from the checkpoint
    for name, array in second.arrays.items():
        array[...] = saved[name]
    run(second, text, 2, first=4)
    assert all((array == second.arrays[name]).all() for name, array in whole.arrays.items())
    other = recipe.trainer(vocabulary, seed=5, threads=1)
    run(other, text, 2)
    assert not (other.arrays["input"] == whole.arrays["input"]).all()


def test_windows_shrink_evenly_and_frequent_words_are_left_out_first() -> None:
    generator = np.random.default_rng(0)
    ids = np.minimum(generator.geometric(0.25, 200_000) - 1, 30).astype(np.int32)
    counts = np.sort(np.bincount(ids, minlength=31))[::-1]
    vocabulary = Vocabulary(words=tuple(map(str, range(31))), counts=counts)
    text = WordText(ids=ids, start=np.array([0, len(ids)]))
    everything = Word2Vec(dimension=8, sample=0.0).trainer(vocabulary, seed=1, threads=1)
    piece = everything.train(text, epoch=0, piece=0, progress=0, progress_after=1)
    assert piece.words == len(ids)
    assert piece.count == pytest.approx(6 * len(ids), rel=0.01)  # 2 · mean of 1 … 5; cuts at 1000 words and at shares cost little
    thinned = Word2Vec(dimension=8, sample=0.01, architecture=Architecture.CBOW).trainer(vocabulary, seed=1, threads=1)
    ratio = counts / counts.sum() / 0.01
    kept = (counts * np.minimum((np.sqrt(ratio) + 1) / ratio, 1)).sum()
    assert thinned.train(text, epoch=0, piece=0, progress=0, progress_after=1).count == pytest.approx(kept, rel=0.01)


def test_the_rate_falls_to_a_ten_thousandth() -> None:
    trainer = Word2Vec().trainer(topics()[0], seed=1, threads=1)
    assert [trainer._rate(progress) for progress in (0, 0.5, 1)] == pytest.approx([0.025, 0.0125, 0.0000025])  # type: ignore[attr-defined]
    assert Word2Vec(architecture=Architecture.CBOW).first_rate == 0.05
    assert FastText().first_rate == FastText(architecture=Architecture.CBOW).first_rate == 0.05


@pytest.mark.parametrize(
    ("recipe", "size", "says"),
    [
        (Word2Vec(), 1, "1 different words"),
        (GloVe(), 1, "at least 2 are needed"),
        (Word2Vec(negatives=5), 5, "too small for 5 negatives; set negatives=4"),
        (FastText(negatives=9, buckets=10), 4, "too small for 9 negatives"),
    ],
)
def test_a_corpus_too_small_is_told(recipe: StaticRecipe, size: int, says: str) -> None:
    vocabulary = Vocabulary(words=tuple("abcdef"[:size]), counts=np.full(size, 7))
    with pytest.raises(PlumeError, match=says):
        recipe.trainer(vocabulary, seed=1, threads=1)


@pytest.mark.parametrize(
    ("kind", "wrong", "says"),
    [
        (Word2Vec, {"dimension": 0}, "dimension=0"),
        (Word2Vec, {"window": 0}, "window=0"),
        (Word2Vec, {"negatives": 0}, "hierarchical_softmax"),
        (Word2Vec, {"rate": -1.0}, "above 0"),
        (Word2Vec, {"sample": 3.0}, "not a share"),
        (FastText, {"shortest": 4, "longest": 3}, "4 to 3"),
        (GloVe, {"x_max": 0.0}, "x_max=0"),
        (GloVe, {"most": 1}, "at least 2 words"),
    ],
)
def test_impossible_settings_are_refused(kind: type[StaticRecipe], wrong: dict, says: str) -> None:
    with pytest.raises(PlumeError, match=says):
        kind(**wrong)


@pytest.mark.parametrize("recipe", [Word2Vec(), FastText(longest=4), GloVe(window=7)])
def test_a_recipe_survives_json(recipe: StaticRecipe) -> None:
    assert part_from_json(recipe.to_json()) == recipe
    assert recipe.override("epochs=3").epochs == 3


def test_an_unsorted_vocabulary_is_refused() -> None:
    with pytest.raises(PlumeError, match="falling count"):
        Vocabulary(words=("a", "b"), counts=np.array([1, 2]))
