"""word2vec on the tokens of a store, piece by piece: what a network's warm start takes its first vectors from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.data.store import Store
from plume.static.reading import read_text, read_vocabulary
from plume.static.recipe import Word2Vec
from plume.static.text import Vocabulary, WordText
from plume.static.word2vec import Word2VecTrainer
from plume.text.tokenizer import Tokenizer

_UPDATE = 6  # operations on each number of a vector a scored word: the product, and the changes of both sides


@dataclass(frozen=True, kw_only=True)
class PieceCost:
    """What a piece of training took."""

    words: int
    flops: float
    seconds: float


class TokenVectors:
    """Vectors of the tokens of a text, by one thread: the same seed gives the same bits. Pieces of an epoch come in a drawn order, so that a part of
    one is not only the beginning of the text."""

    def __init__(self, recipe: Word2Vec, store: Store, tokenizer: Tokenizer, *, seed: int, scratch: Path) -> None:
        self.recipe = recipe
        vocabulary = read_vocabulary(store, tokenizer)
        self._text = read_text(store, vocabulary, tokenizer, scratch / "tokens.bin")
        found = [tokenizer.id(word) for word in vocabulary.words]
        self.tokens: NDArray[np.int64] = np.array(found, np.int64)  # [N] the tokens that have vectors
        self._trainer = Word2VecTrainer(recipe, vocabulary, seed=seed, threads=1)
        self.most = recipe.epochs * self._trainer.pieces
        self.done = 0

    @property
    def epochs(self) -> float:
        """How often the text has been read."""
        return self.done / self._trainer.pieces

    def train_piece(self, planned: int) -> PieceCost:
        """The next of `planned` pieces, to whose end the rate falls."""
        epoch, place = divmod(self.done, self._trainer.pieces)
        piece = np.random.default_rng((self._trainer.seed, epoch)).permutation(self._trainer.pieces)[place]
        began = time.perf_counter()
        trained = self._trainer.train(
            self._text, epoch=epoch, piece=int(piece), progress=self.done / planned, progress_after=(self.done + 1) / planned
        )
        self.done += 1
        flops = float(trained.count) * (1 + self.recipe.negatives) * self.recipe.dimension * _UPDATE
        return PieceCost(words=trained.words, flops=flops, seconds=time.perf_counter() - began)

    def vectors(self) -> NDArray[np.float32]:
        """[N, D], in the order of `tokens`."""
        return self._trainer.vectors()["word"]


def compile_kernels(recipe: Word2Vec) -> None:
    """The first call of a kernel on a machine compiles it, which no run should be charged with."""
    words = Vocabulary(words=("a", "b"), counts=np.array([2, 2]))
    text = WordText(ids=np.array([0, 1, 1, 0], np.int32), start=np.array([0, 4]))
    Word2VecTrainer(recipe, words, seed=0, threads=1).train(text, epoch=0, piece=0, progress=0.0, progress_after=1.0)
