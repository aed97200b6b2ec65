"""fastText's classifier (arXiv:1607.01759): the mean of a text's rows (words, character n-grams, hashed word n-grams) in a linear model."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.static.kernels import classifier as kernels
from plume.static.kernels.sampling import fill_uniform
from plume.static.kernels.vector import flat, padded
from plume.static.ngrams import ngram_lists, word_hashes
from plume.static.recipe import Arrays, TrainedPiece
from plume.static.sampling import huffman_tree
from plume.static.text import Vocabulary
from plume.static.word2vec import INITIAL, SHARES, kernel_seeds

END = "</s>"  # fastText reads the end of a line as a word
_PIECE = 100_000_000  # numbers a piece walks over


class ClassifierLoss(enum.StrEnum):
    """How probabilities of labels are made."""

    SOFTMAX = "softmax"
    HIERARCHICAL_SOFTMAX = "hierarchical_softmax"  # for thousands of labels


class Bags(NamedTuple):
    """The rows of each text: rows[begin[t]:begin[t + 1]]."""

    begin: NDArray[np.int64]
    rows: NDArray[np.int64]


class LabelProbability(NamedTuple):
    """A label and how probable it is."""

    label: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class FastTextClassifier(Part):
    """fasttext supervised, with its defaults."""

    dimension: int = 100
    rate: float = 0.1
    epochs: int = 5
    least: int = 1
    word_ngrams: int = 1  # longest; 2 adds bigrams
    shortest: int = 0  # character n-grams; 0: none
    longest: int = 0
    buckets: int = 2_000_000  # for n-grams of both kinds; none are made if there are no n-grams
    loss: ClassifierLoss = ClassifierLoss.SOFTMAX

    def __post_init__(self) -> None:
        for field in ("dimension", "epochs", "least", "word_ngrams", "buckets"):
            if getattr(self, field) < 1:
                raise PlumeError(f"fastText classifier: {field}={getattr(self, field)}, but at least 1 is needed.")
        if self.longest and not 1 <= self.shortest <= self.longest:
            raise PlumeError(
                f"fastText classifier: n-grams of {self.shortest} to {self.longest} characters; 1 <= shortest <= longest is needed."
            )

    def trainer(self, texts: Sequence[Sequence[str]], labels: Sequence[str], *, seed: int, threads: int) -> ClassifierTrainer:
        """A trainer whose words and labels are those of `texts`."""
        if len(texts) != len(labels) or not texts:
            raise PlumeError(f"fastText classifier: {len(texts)} texts and {len(labels)} labels; give one label a text, and at least one.")
        names = [name for name, _ in Counter(labels).most_common()]
        if len(names) < 2:
            raise PlumeError(
                f"fastText classifier: all {len(texts)} texts have the label '{names[0]}'; at least two different ones are needed."
            )
        words = Counter(word for text in texts for word in text)
        words[END] = len(texts)
        kept = [(word, count) for word, count in words.most_common() if count >= self.least]
        vocabulary = Vocabulary(words=tuple(word for word, _ in kept), counts=np.array([count for _, count in kept], np.int64))
        counts = np.array([Counter(labels)[name] for name in names], np.int64)
        return ClassifierTrainer(self, vocabulary, tuple(names), counts, seed=seed, threads=threads)


class ClassifierTrainer:
    """Holds the weights, trains and answers. As with word vectors, one thread is reproducible and several are not.

    >>> recipe = FastTextClassifier(dimension=8, rate=0.5, epochs=20)
    >>> texts, labels = [["good", "film"], ["bad", "film"]] * 20, ["yes", "no"] * 20
    >>> model = recipe.trainer(texts, labels, seed=1, threads=1).fit(texts, labels)
    >>> model.predict([["good"]])[0][0].label
    'yes'
    """

    def __init__(
        self,
        recipe: FastTextClassifier,
        vocabulary: Vocabulary,
        labels: tuple[str, ...],
        label_counts: NDArray[np.int64],
        *,
        seed: int,
        threads: int,
    ) -> None:
        self.recipe, self.vocabulary, self.labels, self.label_counts = recipe, vocabulary, labels, label_counts
        self.seed, self.threads = seed, threads
        self._buckets = recipe.buckets if recipe.word_ngrams > 1 or recipe.longest else 0
        self._input = padded(len(vocabulary) + self._buckets, recipe.dimension)
        self._output = padded(len(labels), recipe.dimension)
        fill_uniform(
            self._input, recipe.dimension, 1.0 / recipe.dimension, int(kernel_seeds(seed=seed, epoch=INITIAL, first=0, count=1)[0])
        )
        self.arrays: Arrays = {"input": self._input[:, : recipe.dimension], "output": self._output[:, : recipe.dimension]}
        tree = huffman_tree(label_counts)
        self._paths = kernels.Paths(
            recipe.loss is ClassifierLoss.HIERARCHICAL_SOFTMAX,
            tree.begin,
            tree.points,
            np.float32(1) - tree.labels,  # fastText predicts the code bit itself, word2vec one less it
        )

    def fit(self, texts: Sequence[Sequence[str]], labels: Sequence[str]) -> ClassifierTrainer:
        """Learn from texts, given as words, and their labels."""
        bags, answers = self.bags(texts), self.answers(labels)
        for epoch in range(self.recipe.epochs):
            pieces = self.pieces(bags)
            for piece in range(pieces):
                progress = [(epoch + (piece + more) / pieces) / self.recipe.epochs for more in (0, 1)]
                self.train(bags, answers, epoch=epoch, piece=piece, progress=progress[0], progress_after=progress[1])
        return self

    def pieces(self, bags: Bags) -> int:
        """In how many pieces an epoch is trained."""
        return max(1, round(len(bags.rows) * self.recipe.dimension / _PIECE))

    def answers(self, labels: Sequence[str]) -> NDArray[np.int64]:
        """Labels as numbers; one that training did not see is an error."""
        index = {name: number for number, name in enumerate(self.labels)}
        if unknown := sorted({label for label in labels if label not in index}):
            raise PlumeError(f"Unknown label '{unknown[0]}': the classifier knows {', '.join(self.labels[:20])}.")
        return np.array([index[label] for label in labels], np.int64)

    def bags(self, texts: Sequence[Sequence[str]]) -> Bags:
        """The rows of texts, as fastText's dictionary makes them: words with their n-grams, then word n-grams; the text's end is a word."""
        words = [word for text in texts for word in (*text, END)]
        index = self.vocabulary.index
        different = list(dict.fromkeys(words))
        number = {word: place for place, word in enumerate(different)}
        known = np.array([index.get(word, -1) for word in different], np.int64)
        size, recipe = len(self.vocabulary), self.recipe
        begin, ngrams = np.zeros(len(different) + 1, np.int64), np.zeros(0, np.int64)
        if recipe.longest:
            begin, ngrams = ngram_lists(different, shortest=recipe.shortest, longest=recipe.longest, buckets=recipe.buckets)
        ids = np.array([number[word] for word in words], np.int64)
        start = np.concatenate([[0], np.cumsum([len(text) + 1 for text in texts])]).astype(np.int64)
        end = number.get(END, -1)
        return Bags(
            *kernels.text_rows(
                ids, start, known, begin, ngrams, end, word_hashes(different), recipe.word_ngrams, size, max(1, self._buckets)
            )
        )

    def train(
        self, bags: Bags, answers: NDArray[np.int64], *, epoch: int, piece: int, progress: float, progress_after: float
    ) -> TrainedPiece:
        """One pass over a piece of the texts, in order; the rate falls to 0 with progress. `epoch` changes nothing: nothing is drawn."""
        count = len(answers)
        bounds = np.linspace(0, count, self.pieces(bags) + 1).astype(np.int64)
        cuts = np.linspace(bounds[piece], bounds[piece + 1], SHARES + 1).astype(np.int64)
        rates = [np.float32(self.recipe.rate * (1 - progress - (progress_after - progress) * part / SHARES)) for part in range(SHARES + 1)]

        def work(part: int) -> float:
            given = bags.begin, bags.rows, answers, cuts[part], cuts[part + 1], rates[part], rates[part + 1]
            return kernels.train_texts(*given, self._paths, flat(self._input), flat(self._output), len(self.labels), self._input.shape[1])

        if self.threads == 1:
            loss = sum(work(part) for part in range(SHARES))
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                loss = sum(pool.map(work, range(SHARES)))
        first, last = bounds[piece], bounds[piece + 1]
        return TrainedPiece(int(bags.begin[last] - bags.begin[first]), loss, int(last - first))

    def predict(self, texts: Sequence[Sequence[str]], k: int = 1) -> list[list[LabelProbability]]:
        """The k likeliest labels of each text, likeliest first; none for a text of which no row is known."""
        bags = self.bags(texts)
        probability = self.probabilities(bags)
        top = np.argsort(-probability, axis=1, kind="stable")[:, :k]
        empty = np.diff(bags.begin) == 0
        return [
            [] if nothing else [LabelProbability(self.labels[place], float(row[place])) for place in best]
            for row, best, nothing in zip(probability, top.tolist(), empty.tolist(), strict=True)
        ]

    def probabilities(self, bags: Bags) -> NDArray[np.float64]:
        """[N, labels]."""
        hidden = kernels.means(bags.begin, bags.rows, flat(self._input), self._input.shape[1])
        scores = hidden.astype(np.float64) @ self._output.T
        if not self._paths.hierarchical:
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)
        signed = scores[:, self._paths.points] * (2 * self._paths.labels - 1)
        return np.exp(np.add.reduceat(-np.logaddexp(0, -signed), self._paths.begin[:-1], axis=1))
