"""The trainer of GloVe."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.core.machine import cores
from plume.static.cooccurrence import ENTRY, build
from plume.static.kernels import glove as kernels
from plume.static.kernels.sampling import fill_uniform
from plume.static.kernels.vector import flat, padded
from plume.static.recipe import NOT_MEASURED, Arrays, GloVe, HeldOutLoss, TrainedPiece
from plume.static.text import Vocabulary, WordText
from plume.static.word2vec import INITIAL, SHARES, kernel_seeds

_PIECE = 1_000_000_000  # numbers an AdaGrad piece walks over: about a second on two cores
_SWEEPS = 4  # of fitting biases alone


class GloVeTrainer:
    """Weighted least squares on logarithms of co-occurrence counts by AdaGrad, over entries on disk in one shuffled order. With `threads=1` the
    same seed gives bit-equal arrays, also when taken up again; more threads write without locks (as glove.c does), never twice the same."""

    def __init__(self, recipe: GloVe, vocabulary: Vocabulary, *, seed: int, threads: int) -> None:
        self.recipe, self.vocabulary, self.seed, self.threads = recipe, vocabulary, seed, threads
        self.pieces = 0
        size, dimension = len(vocabulary), recipe.dimension
        self._matrices = {name: padded(size, dimension) for name in ("word", "context", "word_squares", "context_squares")}
        self.arrays: Arrays = {name: matrix[:, :dimension] for name, matrix in self._matrices.items()}
        for name in ("word", "context"):
            self._matrices[f"{name}_squares"][:] = 1  # glove.c: so that the first rate is the given one
            self.arrays |= {f"{name}_bias": np.zeros(size, np.float32), f"{name}_bias_squares": np.ones(size, np.float32)}
        seeds = kernel_seeds(seed=seed, epoch=INITIAL, first=0, count=4)
        half = 0.5 / (dimension + 1)  # glove.c counts the bias as a component, and begins it at random as well
        for number, name in enumerate(("word", "context")):
            fill_uniform(self._matrices[name], dimension, half, int(seeds[2 * number]))
            fill_uniform(self.arrays[f"{name}_bias"].reshape(-1, 1), 1, half, int(seeds[2 * number + 1]))
        self._entries: NDArray[np.int32] = np.zeros((0, 4), np.int32)
        self._biases: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def prepare(self, text: WordText, scratch: Path, progress: Callable[[float], None]) -> None:
        """Count and shuffle the co-occurrences of `text` in `scratch`; they must stay there while training."""
        self._entries = self._count(text, scratch, progress)
        if not len(self._entries):
            raise PlumeError(f"{self.recipe.name}: no two words of the vocabulary stand in one sentence; give more text, or set least=1.")
        self.pieces = max(1, round(len(self._entries) * self.recipe.dimension / _PIECE))

    def train(self, text: WordText, *, epoch: int, piece: int, progress: float, progress_after: float) -> TrainedPiece:
        """AdaGrad's rates fall by themselves: progress changes nothing."""
        if not self.pieces:
            raise PlumeError("GloVe trains on co-occurrences: call prepare(text, …) first.")
        bounds = np.linspace(0, len(self._entries), self.pieces + 1).astype(np.int64)
        cuts = np.linspace(bounds[piece], bounds[piece + 1], SHARES + 1).astype(np.int64)
        numbers, width = self._entries.view(np.float32), self._matrices["word"].shape[1]
        sides = self._side("word"), self._side("context")
        rate = np.float32(self.recipe.rate or 0.05)

        def work(part: int) -> float:
            return kernels.train_entries(self._entries, numbers, cuts[part], cuts[part + 1], *sides, rate, width)

        if self.threads == 1:
            loss = sum(work(part) for part in range(SHARES))
        else:
            with ThreadPoolExecutor(min(self.threads, cores())) as pool:
                loss = sum(pool.map(work, range(SHARES)))
        share = (bounds[piece + 1] - bounds[piece]) / len(self._entries)
        return TrainedPiece(round(share * len(text.ids)), loss, int(bounds[piece + 1] - bounds[piece]))

    def loss(self, text: WordText) -> HeldOutLoss:
        """The weighted loss an entry on co-occurrences of `text`. Those are fewer than the ones trained on, and pairs that happen not to occur
        are missing, so that their logarithms lie on a flatter line: the best line is laid through the model's predictions, and through
        those of the baseline, whose biases were fitted alone to the training entries."""
        with tempfile.TemporaryDirectory() as folder:
            pairs = np.array(self._count(text, Path(folder), lambda share: None))
        if not len(pairs):
            return NOT_MEASURED
        numbers, width = pairs.view(np.float32), self._matrices["word"].shape[1]
        found = kernels.predicted(pairs, self._side("word"), self._side("context"), width)
        word, context = self._fitted()
        alone = word[pairs[:, 0]] + context[pairs[:, 1]]
        return HeldOutLoss(_about_line(found, numbers[:, 2], numbers[:, 3]), _about_line(alone, numbers[:, 2], numbers[:, 3]))

    def vectors(self) -> Arrays:
        """Both sets summed (Pennington et al. 2014, section 4.2)."""
        return {"word": self.arrays["word"] + self.arrays["context"]}

    def _count(self, text: WordText, folder: Path, progress: Callable[[float], None]) -> NDArray[np.int32]:
        recipe = self.recipe
        path = build(
            text, window=recipe.window, symmetric=recipe.symmetric, x_max=recipe.x_max, alpha=recipe.alpha,
            seed=self.seed, memory=recipe.memory << 20, folder=folder, progress=progress,
        )  # fmt: skip
        if not path.stat().st_size:
            return np.zeros((0, 4), np.int32)
        # Opened for copying on write, though nothing is written: one type for the kernels, read-only arrays would be another.
        return np.asarray(np.memmap(path, np.int32, mode="c")).reshape(-1, ENTRY.itemsize // 4)

    def _side(self, name: str) -> kernels.Weights:
        rows, squares = flat(self._matrices[name]), flat(self._matrices[f"{name}_squares"])
        return kernels.Weights(rows, squares, self.arrays[f"{name}_bias"], self.arrays[f"{name}_bias_squares"])

    def _fitted(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self._biases is None:
            numbers, size = self._entries.view(np.float32), len(self.vocabulary)
            word, context = np.zeros(size), np.zeros(size)
            for _ in range(_SWEEPS):
                word = kernels.fit_bias(self._entries, numbers, 0, context, size)
                context = kernels.fit_bias(self._entries, numbers, 1, word, size)
            self._biases = word, context
        return self._biases


def _about_line(predicted: NDArray[np.floating], true: NDArray[np.float32], weights: NDArray[np.float32]) -> float:
    """Half the weighted squares an entry about the best line through (predicted, true)."""
    x, y = (column.astype(np.float64) - np.average(column, weights=weights) for column in (predicted, true))
    slope = np.sum(weights * x * y) / max(float(np.sum(weights * x * x)), 1e-30)
    return float(0.5 * np.mean(weights * (y - slope * x) ** 2))
