"""The trainer of word2vec: what surrounds the kernels."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.machine import cores
from plume.core.seeds import Draws
from plume.static.kernels import predict as kernels_predict
from plume.static.kernels import window as kernels_window
from plume.static.kernels.sampling import fill_uniform
from plume.static.kernels.vector import flat, padded
from plume.static.recipe import NOT_MEASURED, Architecture, Arrays, HeldOutLoss, StaticLoss, TrainedPiece, Word2Vec
from plume.static.sampling import huffman_tree, keep_shares, keep_thresholds, noise_shares, noise_table
from plume.static.text import Vocabulary, WordText

SHARES = 16  # parts of a piece that threads take as they come; a number of its own, so that it does not depend on the threads
_PIECE = 100_000_000  # numbers of the input a piece walks over: about a second of skip-gram on two cores
INITIAL, _HELD_OUT = 2**40, 2**40 + 1  # "epochs" of the random numbers that no epoch uses


def kernel_seeds(*, seed: int, epoch: int, first: int, count: int) -> NDArray[np.uint64]:
    """[count] seeds for the kernels' own generators: a function of (seed, epoch, number) and nothing else."""
    drawn = Draws(seed=seed, epoch=epoch, index=np.arange(first, first + count)).uniform(1)[:, 0]
    return (drawn * 2.0**53).astype(np.uint64)


class Word2VecTrainer:
    """Trains skip-gram or CBOW. With `threads=1` the same seed gives bit-equal vectors, also when stopped between pieces and taken up again;
    more threads write to the same rows without locks (Hogwild, Niu et al. 2011), which is as good but never twice the same."""

    redraws: ClassVar[bool] = False  # of a negative that is the target itself: left out (word2vec), or drawn again (fastText)

    def __init__(self, recipe: Word2Vec, vocabulary: Vocabulary, *, seed: int, threads: int) -> None:
        self.recipe, self.vocabulary, self.seed, self.threads = recipe, vocabulary, seed, threads
        self.pieces = max(1, round(vocabulary.total * recipe.dimension / _PIECE))
        self._keep = keep_thresholds(vocabulary.counts, recipe.sample)
        self._targets = self._make_targets()
        self._inputs = self._make_inputs()
        self._input = padded(self._input_rows(), recipe.dimension)
        self._output = padded(len(vocabulary), recipe.dimension)  # begins at zero, as in word2vec.c
        first = int(kernel_seeds(seed=seed, epoch=INITIAL, first=0, count=1)[0])
        fill_uniform(self._input, recipe.dimension, self._half_width(), first)
        self.arrays: Arrays = {"input": self._input[:, : recipe.dimension], "output": self._output[:, : recipe.dimension]}

    def prepare(self, text: WordText, scratch: Path, progress: Callable[[float], None]) -> None:
        """Nothing: windows are laid while training."""

    def train(self, text: WordText, *, epoch: int, piece: int, progress: float, progress_after: float) -> TrainedPiece:
        """One piece of an epoch, over shares of sentences that threads take."""
        bounds = text.cuts(0, len(text), self.pieces)
        cuts = text.cuts(int(bounds[piece]), int(bounds[piece + 1]), SHARES)
        seeds = kernel_seeds(seed=self.seed, epoch=epoch, first=piece * SHARES, count=SHARES)
        rates = [self._rate(progress + (progress_after - progress) * part / SHARES) for part in range(SHARES + 1)]

        def work(part: int) -> tuple[float, int]:
            share = self._share(text.part(int(cuts[part]), int(cuts[part + 1])), rates[part], rates[part + 1], seeds[part])
            return self._walk(share, self._inputs, self._input, self._output, mean=self.recipe.mean)

        found = self._in_threads(work)
        words = int(text.start[bounds[piece + 1]] - text.start[bounds[piece]])
        return TrainedPiece(words, sum(loss for loss, _ in found), sum(count for _, count in found))

    def loss(self, text: WordText) -> HeldOutLoss:
        """The loss a prediction on `text`, words thinned out and windows drawn as in training, but by a seed of its own."""
        if not (np.diff(text.start) > 1).any():
            return NOT_MEASURED
        one = padded(len(self.vocabulary), 1)
        one[:, 0] = 1
        scores = padded(len(self.vocabulary), 1)
        known = self._scores()
        scores[: len(known), 0] = known
        model = self._evaluate(text, self._inputs, self._input, self._output, self.recipe.mean)
        # A model with vectors of one number, 1 for every input: its score depends on the target alone.
        return HeldOutLoss(model, self._evaluate(text, _own_row(len(self.vocabulary)), one, scores, True))

    def vectors(self) -> Arrays:
        """The input vectors."""
        return {"word": np.ascontiguousarray(self.arrays["input"])}

    def _input_rows(self) -> int:
        return len(self.vocabulary)

    def _half_width(self) -> float:
        """First values lie in ±1/(2 · dimension)."""
        return 0.5 / self.recipe.dimension

    def _make_inputs(self) -> kernels_predict.Inputs:
        return _own_row(len(self.vocabulary))

    def _make_targets(self) -> kernels_predict.Targets:
        counts = self.vocabulary.counts
        if self.recipe.loss is StaticLoss.HIERARCHICAL_SOFTMAX:
            tree = huffman_tree(counts)
            return kernels_predict.Targets(
                0, self.redraws, np.zeros(0, np.uint32), np.zeros(0, np.int32), tree.begin, tree.points, tree.labels
            )
        noise = noise_table(counts, self.recipe.power)
        no_tree = huffman_tree(counts[:2])  # of the same types, for the compiler
        return kernels_predict.Targets(self.recipe.negatives, self.redraws, *noise, no_tree.begin, no_tree.points, no_tree.labels)

    def _scores(self) -> NDArray[np.float64]:
        """The best score of each output row for who knows only frequencies: log odds of a true word against noise, or of the two sides of a node."""
        counts = self.vocabulary.counts
        kept = counts * keep_shares(counts, self.recipe.sample)
        if self.recipe.loss is StaticLoss.HIERARCHICAL_SOFTMAX:
            weights = huffman_tree(np.maximum(counts, 1)).weights
            return np.log(weights[:, 0]) - np.log(weights[:, 1])
        return np.log(kept / kept.sum()) - np.log(self.recipe.negatives * noise_shares(counts, self.recipe.power))

    def _rate(self, progress: float) -> float:
        return self.recipe.first_rate * max(1 - progress, self.recipe.least_rate)

    def _share(self, part: WordText, first_rate: float, last_rate: float, seed: np.uint64) -> kernels_predict.Share:
        return kernels_predict.Share(
            part.ids, part.start, self._keep, self.recipe.window, np.float32(first_rate), np.float32(last_rate), seed
        )

    def _walk(
        self,
        share: kernels_predict.Share,
        inputs: kernels_predict.Inputs,
        input_: NDArray[np.float32],
        output: NDArray[np.float32],
        *,
        mean: bool,
    ) -> tuple[float, int]:
        width = input_.shape[1]
        room = kernels_predict.scratch(self._targets, width)
        if self.recipe.architecture is Architecture.CBOW:
            return kernels_window.bag_of_words(share, self._targets, inputs, room, flat(input_), flat(output), mean, width)
        return self._skip_gram(share, inputs, room, flat(input_), flat(output), width)

    def _skip_gram(
        self,
        share: kernels_predict.Share,
        inputs: kernels_predict.Inputs,
        room: kernels_predict.Scratch,
        input_: NDArray[np.float32],
        output: NDArray[np.float32],
        width: int,
    ) -> tuple[float, int]:
        return kernels_window.context_skip_gram(share, self._targets, room, input_, output, width)

    def _evaluate(
        self, text: WordText, inputs: kernels_predict.Inputs, input_: NDArray[np.float32], output: NDArray[np.float32], mean: bool
    ) -> float:
        cuts = text.cuts(0, len(text), SHARES)
        seeds = kernel_seeds(seed=0, epoch=_HELD_OUT, first=0, count=SHARES)

        def work(part: int) -> tuple[float, int]:
            share = self._share(text.part(int(cuts[part]), int(cuts[part + 1])), 0.0, 0.0, seeds[part])
            return self._walk(share, inputs, input_, output, mean=mean)

        found = self._in_threads(work)
        return sum(loss for loss, _ in found) / max(1, sum(count for _, count in found))

    def _in_threads(self, work: Callable[[int], tuple[float, int]]) -> list[tuple[float, int]]:
        if self.threads == 1:
            return [work(part) for part in range(SHARES)]
        with ThreadPoolExecutor(min(self.threads, SHARES, cores())) as pool:
            return list(pool.map(work, range(SHARES)))


def _own_row(size: int) -> kernels_predict.Inputs:
    return kernels_predict.Inputs(np.arange(size + 1), np.arange(size, dtype=np.int32), np.ones(size, np.float32))
