"""The kernels of word2vec and fastText against a slow numpy oracle that walks as word2vec.c and fasttext.cc do, one row at a time."""

from __future__ import annotations

import numpy as np
import pytest

from plume.static.kernels.predict import Share
from plume.static.recipe import Architecture, FastText, StaticLoss, Word2Vec
from plume.static.text import Vocabulary, WordText

WORDS = ("banana", "ana", "cat", "dog", "tree", "house", "anana", "nanana")
IDS = np.array([0, 1, 2, 0, 3, 4, 5, 0, 1, 6, 7, 2, 2, 0, 3, 1, 6, 0, 0, 5], np.int32)
TEXT = WordText(ids=IDS, start=np.array([0, 7, 8, 20]))
VOCABULARY = Vocabulary(words=WORDS, counts=np.array([9, 8, 7, 6, 5, 4, 3, 2]))
RATE = 0.3  # large, so that an error in any step shows


def tabled(score: float) -> float:
    """word2vec.c's sigmoid: the value at the left edge of one of 1000 cells from -6 to 6."""
    assert abs(score) < 6
    return 1 / (1 + np.exp(6 - np.floor((score + 6) * 1000 / 12) * 0.012))


class Oracle:
    """The generator, the draws and the steps, in Python numbers."""

    def __init__(self, trainer, seed: int, *, redraw: bool) -> None:
        self.state, self.targets, self.keep, self.redraw = seed, trainer._targets, trainer._keep, redraw
        self.input, self.output = trainer.arrays["input"].astype(np.float64), trainer.arrays["output"].astype(np.float64)
        self.loss, self.predictions = 0.0, 0

    def follow(self) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state >> 32

    def sentences(self):
        for sentence in np.split(IDS, TEXT.start[1:-1]):
            yield [int(word) for word in sentence if self.follow() <= self.keep[word]]

    def around(self, sentence: list[int], centre: int, window: int) -> list[int]:
        reach = window - (self.follow() * window >> 32)
        return [place for place in range(max(0, centre - reach), min(len(sentence), centre + reach + 1)) if place != centre]

    def chosen(self, word: int) -> list[tuple[int, float]]:
        if self.targets.negatives == 0:
            path = slice(self.targets.begin[word], self.targets.begin[word + 1])
            return list(zip(self.targets.points[path].tolist(), self.targets.labels[path].tolist(), strict=True))
        return [(word, 1.0)] + [(drawn, 0.0) for drawn in (self.negative(word) for _ in range(self.targets.negatives)) if drawn != word]

    def negative(self, word: int) -> int:
        while True:
            upper = self.follow()
            place = upper * len(self.targets.threshold) >> 32
            low = (self.state ^ upper) % 2**32
            drawn = int(self.targets.alias[place]) if low > self.targets.threshold[place] else place
            if drawn != word or not self.redraw:
                return drawn

    def step(self, hidden: np.ndarray, word: int) -> np.ndarray:
        rows = self.chosen(word)
        scores = [float(hidden @ self.output[row]) for row, _ in rows]
        error = np.zeros_like(hidden)
        for (row, label), score in zip(
            rows, scores, strict=True
        ):  # all scores first: of word2vec.c's order only a negative drawn twice differs
            self.loss += np.logaddexp(0, -score if label else score)
            error += RATE * (label - tabled(score)) * self.output[row]
            self.output[row] += RATE * (label - tabled(score)) * hidden
        self.predictions += 1
        return error


def trained(recipe: Word2Vec):
    trainer = recipe.trainer(VOCABULARY, seed=3, threads=1)
    generator = np.random.default_rng(5)
    for array in trainer.arrays.values():
        array[...] = generator.normal(0, 0.3, array.shape)
    oracle = Oracle(trainer, 77, redraw=isinstance(recipe, FastText))
    share = Share(TEXT.ids, TEXT.start, trainer._keep, recipe.window, np.float32(RATE), np.float32(RATE), np.uint64(77))
    found = trainer._walk(share, trainer._inputs, trainer._input, trainer._output, mean=recipe.mean)
    return trainer, oracle, found


def assert_equal(trainer, oracle: Oracle, found: tuple[float, int]) -> None:
    assert found[1] == oracle.predictions > 15
    assert found[0] == pytest.approx(oracle.loss, rel=1e-3)
    np.testing.assert_allclose(trainer.arrays["input"], oracle.input, atol=2e-3)  # a score at a cell's edge may fall to either side
    np.testing.assert_allclose(trainer.arrays["output"], oracle.output, atol=2e-3)


LOSSES = pytest.mark.parametrize("loss", list(StaticLoss))


@LOSSES
def test_the_context_word_predicts_the_centre(loss: StaticLoss) -> None:
    trainer, oracle, found = trained(Word2Vec(dimension=20, window=3, negatives=3, sample=0.1, loss=loss))
    for sentence in oracle.sentences():
        for centre, word in enumerate(sentence):
            for place in oracle.around(sentence, centre, 3):
                oracle.input[sentence[place]] += oracle.step(oracle.input[sentence[place]].copy(), word)
    assert_equal(trainer, oracle, found)


@LOSSES
@pytest.mark.parametrize("mean", [True, False])
def test_the_words_around_predict_the_centre(loss: StaticLoss, mean: bool) -> None:
    recipe = Word2Vec(architecture=Architecture.CBOW, dimension=20, window=3, negatives=3, sample=0.1, loss=loss, mean=mean)
    trainer, oracle, found = trained(recipe)
    for sentence in oracle.sentences():
        for centre, word in enumerate(sentence):
            rows = [sentence[place] for place in oracle.around(sentence, centre, 3)]
            if rows:
                total = oracle.input[rows].sum(0)
                np.add.at(oracle.input, rows, oracle.step(total / len(rows) if mean else total, word))  # undivided, to each
    assert_equal(trainer, oracle, found)


@LOSSES
@pytest.mark.parametrize("shortest", [1, 2])
def test_fasttext_averages_the_rows_anew_for_each_context_word(loss: StaticLoss, shortest: int) -> None:
    """The kernel reads and writes them once a centre; n-grams that a word has twice ("an" in "banana") are the trap."""
    recipe = FastText(dimension=20, window=3, negatives=3, sample=0.1, loss=loss, shortest=shortest, longest=3, buckets=50)
    trainer, oracle, found = trained(recipe)
    begin, rows = trainer._inputs.begin, trainer._inputs.rows
    assert trainer._inputs.echo.max() > 1.2
    for sentence in oracle.sentences():
        for centre, word in enumerate(sentence):
            own = rows[begin[word] : begin[word + 1]]
            for place in oracle.around(sentence, centre, 3):
                np.add.at(oracle.input, own, oracle.step(oracle.input[own].mean(0), sentence[place]))
    assert_equal(trainer, oracle, found)


def test_fasttext_cbow_averages_all_rows_of_all_words_around() -> None:
    recipe = FastText(architecture=Architecture.CBOW, dimension=20, window=3, negatives=3, sample=0.1, buckets=50)
    trainer, oracle, found = trained(recipe)
    begin, rows = trainer._inputs.begin, trainer._inputs.rows
    for sentence in oracle.sentences():
        for centre, word in enumerate(sentence):
            around = [sentence[place] for place in oracle.around(sentence, centre, 3)]
            if around:
                own = np.concatenate([rows[begin[one] : begin[one + 1]] for one in around])
                np.add.at(oracle.input, own, oracle.step(oracle.input[own].mean(0), word))
    assert_equal(trainer, oracle, found)


def test_padding_stays_zero() -> None:
    trainer, _, _ = trained(Word2Vec(dimension=20, window=3, negatives=3))
    assert trainer._input.shape[1] == 32
    assert not trainer._input[:, 20:].any() and not trainer._output[:, 20:].any()
