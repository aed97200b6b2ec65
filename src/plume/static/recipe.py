"""The declarations of the static families, and what every trainer of theirs offers."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.static.phrases import Phrases
from plume.static.text import Vocabulary, WordText
from plume.text.words import Words

Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class TrainedPiece:
    """What training on a piece of an epoch came to."""

    words: int
    loss: float  # summed
    count: int  # predictions (GloVe: entries)


@dataclass(frozen=True)
class HeldOutLoss:
    """Loss a prediction on held-out text, and that of knowing frequencies alone."""

    loss: float
    baseline: float


NOT_MEASURED = HeldOutLoss(float("nan"), float("nan"))  # the held-out text has nothing to predict


class Trainer(Protocol):
    """Trains in pieces of about a second, between which a run may be shown, saved or stopped. All state is in `arrays`; all
    randomness is a function of (seed, epoch, piece): with one thread a resumed run ends bit-equal, with more (lock-free) no two runs are equal."""

    arrays: Arrays  # views that a checkpoint copies out and, when taken up again, copies in
    pieces: int  # an epoch's; GloVe knows them after `prepare`

    def prepare(self, text: WordText, scratch: Path, progress: Callable[[float], None]) -> None:
        """What has to be done before the first piece: GloVe counts."""
        ...

    def train(self, text: WordText, *, epoch: int, piece: int, progress: float, progress_after: float) -> TrainedPiece:
        """One piece of an epoch; `progress` and `progress_after` are the shares of the run before and after it."""
        ...

    def loss(self, text: WordText) -> HeldOutLoss:
        """On held-out text."""
        ...

    def vectors(self) -> Arrays:
        """What is published."""
        ...


class Architecture(enum.StrEnum):
    """What predicts what."""

    SKIP_GRAM = "skip_gram"  # each word around, alone
    CBOW = "cbow"  # all words around together


class StaticLoss(enum.StrEnum):
    """How a word is predicted without a softmax over the vocabulary."""

    NEGATIVE_SAMPLING = "negative_sampling"
    HIERARCHICAL_SOFTMAX = "hierarchical_softmax"


@dataclass(frozen=True, kw_only=True)
class StaticRecipe(Part):
    """What the families share."""

    name: str
    size: str = "base"
    title: str = ""
    paper: str = ""
    lowercase: bool = False
    cut: Words = Words.JIEBA  # how Chinese is cut; SPACES: each character is a word
    least: int = 5  # words that occur less often are left out
    most: int | None = None  # largest vocabulary
    dimension: int = 100
    window: int = 5
    epochs: int = 5
    rate: float | None = None
    phrases: Phrases | None = None

    def __post_init__(self) -> None:
        for field in ("least", "dimension", "window", "epochs"):
            if getattr(self, field) < 1:
                raise PlumeError(f"{self.name}: {field}={getattr(self, field)}, but at least 1 is needed.")
        if self.most is not None and self.most < 2:
            raise PlumeError(f"{self.name}: most={self.most}, but a vocabulary needs at least 2 words.")
        if self.rate is not None and not self.rate > 0:
            raise PlumeError(f"{self.name}: rate={self.rate}, but the learning rate must be above 0.")

    @property
    def objective(self) -> str:
        """What is learned, in a word."""
        return "co_occurrence"

    def trainer(self, vocabulary: Vocabulary, *, seed: int, threads: int) -> Trainer:
        """What trains it, on a vocabulary."""
        raise NotImplementedError

    def check(self, vocabulary: Vocabulary, threads: int) -> None:
        """Raise if it cannot be trained on this vocabulary."""
        if threads < 1:
            raise PlumeError(f"{self.name}: {threads} threads, but at least 1 is needed.")
        if len(vocabulary) < 2:
            raise PlumeError(
                f"{self.name}: the corpus has {len(vocabulary)} different words that occur {self.least} times or more, but at least 2 are needed; "
                "give a larger corpus, or set least=1."
            )


@dataclass(frozen=True, kw_only=True)
class Word2Vec(StaticRecipe):
    """word2vec (arXiv:1301.3781, arXiv:1310.4546), with word2vec.c's details."""

    name: str = "word2vec"
    title: str = "word2vec"
    paper: str = "arXiv:1310.4546"
    architecture: Architecture = Architecture.SKIP_GRAM
    loss: StaticLoss = StaticLoss.NEGATIVE_SAMPLING
    negatives: int = 5
    sample: float = 1e-3  # above this share of the text words are thinned out; 0: none
    power: float = 0.75
    mean: bool = True  # CBOW: mean of the words around, or their sum
    least_rate: float = 1e-4  # of the first rate

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.negatives < 1 and self.loss is StaticLoss.NEGATIVE_SAMPLING:
            raise PlumeError(
                f"{self.name}: negatives={self.negatives}; negative sampling needs at least 1, or set loss=hierarchical_softmax."
            )
        if not 0 <= self.least_rate <= 1 or self.power < 0:
            raise PlumeError(f"{self.name}: least_rate={self.least_rate} is a share of the first rate, and power={self.power} not below 0.")
        if not 0 <= self.sample <= 1:
            raise PlumeError(f"{self.name}: sample={self.sample} is not a share; give 0 (none is left out) to 1.")

    @property
    def objective(self) -> str:
        return f"{self.architecture}"

    @property
    def first_rate(self) -> float:
        """word2vec.c: 0.025 for skip-gram, 0.05 for CBOW."""
        return self.rate or {Architecture.SKIP_GRAM: 0.025, Architecture.CBOW: 0.05}[self.architecture]

    def trainer(self, vocabulary: Vocabulary, *, seed: int, threads: int) -> Trainer:
        from plume.static.word2vec import Word2VecTrainer  # compiled code, loaded only to train

        self.check(vocabulary, threads)
        return Word2VecTrainer(self, vocabulary, seed=seed, threads=threads)

    def check(self, vocabulary: Vocabulary, threads: int) -> None:
        super().check(vocabulary, threads)
        if self.loss is StaticLoss.NEGATIVE_SAMPLING and len(vocabulary) <= self.negatives:
            raise PlumeError(
                f"{self.name}: a vocabulary of {len(vocabulary)} words is too small for {self.negatives} negatives; "
                f"set negatives={len(vocabulary) - 1} or fewer, least=1, or give a larger corpus."
            )


@dataclass(frozen=True, kw_only=True)
class FastText(Word2Vec):
    """fastText (arXiv:1607.04606): a word's vector is the mean of its own row and those of its character n-grams, hashed."""

    name: str = "fasttext"
    title: str = "fastText"
    paper: str = "arXiv:1607.04606"
    rate: float | None = 0.05
    sample: float = 1e-4
    power: float = 0.5
    least_rate: float = 0.0
    shortest: int = 3
    longest: int = 6
    buckets: int = 2_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.shortest <= self.longest:
            raise PlumeError(f"{self.name}: n-grams of {self.shortest} to {self.longest} characters; 1 <= shortest <= longest is needed.")
        if self.buckets < 1:
            raise PlumeError(f"{self.name}: buckets={self.buckets}, but at least 1 is needed.")

    def trainer(self, vocabulary: Vocabulary, *, seed: int, threads: int) -> Trainer:
        from plume.static.fasttext import FastTextTrainer

        self.check(vocabulary, threads)
        return FastTextTrainer(self, vocabulary, seed=seed, threads=threads)


@dataclass(frozen=True, kw_only=True)
class GloVe(StaticRecipe):
    """GloVe (Pennington et al. 2014): vectors whose products are the logarithms of co-occurrence counts; glove.c's details.

    A sentence of the text is a line of cooccur.c: windows do not cross its ends.
    """

    name: str = "glove"
    title: str = "GloVe"
    paper: str = "https://aclanthology.org/D14-1162"
    window: int = 15
    epochs: int = 25
    rate: float | None = 0.05
    symmetric: bool = True  # words to both sides, or to the left alone
    x_max: float = 100.0
    alpha: float = 0.75
    memory: int = 1024  # MB for counting co-occurrences before sorted runs go to disk; changes no result

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.x_max > 0 or self.memory < 1:
            raise PlumeError(f"{self.name}: x_max={self.x_max} and memory={self.memory} must both be above 0.")

    def trainer(self, vocabulary: Vocabulary, *, seed: int, threads: int) -> Trainer:
        from plume.static.glove import GloVeTrainer

        self.check(vocabulary, threads)
        return GloVeTrainer(self, vocabulary, seed=seed, threads=threads)
