"""The trainer of fastText: word2vec's, with several input rows a word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plume.static.kernels import predict as kernels_predict
from plume.static.kernels import window as kernels_window
from plume.static.ngrams import ngram_lists
from plume.static.recipe import Arrays, FastText
from plume.static.word2vec import Word2VecTrainer


class FastTextTrainer(Word2VecTrainer):
    """Rows 0 … V - 1 of "input" are the words' own, those after are the n-grams' buckets. fastText's `</s>` at each line's end is not a word here."""

    recipe: FastText

    redraws = True

    def vectors(self) -> Arrays:
        """The rows as they were trained; a word's vector is the mean of its own and its n-grams'."""
        rows = self.arrays["input"]
        size = len(self.vocabulary)
        parts = {"word": rows[:size], "ngram": rows[size:], "output": self.arrays["output"]}  # the last for fastText's own file
        return {name: np.ascontiguousarray(part) for name, part in parts.items()}

    def word_vectors(self) -> NDArray[np.float32]:
        """[V, D] the words' vectors, each the mean of its rows."""
        begin, rows = self._inputs.begin, self._inputs.rows
        found = np.empty((len(self.vocabulary), self.recipe.dimension), np.float32)
        for first in range(0, len(found), 4096):  # bounded memory
            last = min(first + 4096, len(found))
            stack = self.arrays["input"][rows[begin[first] : begin[last]]]
            found[first:last] = np.add.reduceat(stack, begin[first:last] - begin[first]) / np.diff(begin[first : last + 1])[:, None]
        return found

    def _input_rows(self) -> int:
        return len(self.vocabulary) + self.recipe.buckets

    def _half_width(self) -> float:
        """fasttext.cc: ±1/dimension."""
        return 1.0 / self.recipe.dimension

    def _make_inputs(self) -> kernels_predict.Inputs:
        size, recipe = len(self.vocabulary), self.recipe
        begin, ids = ngram_lists(self.vocabulary.words, shortest=recipe.shortest, longest=recipe.longest, buckets=recipe.buckets)
        rows = np.insert(ids + size, begin[:-1], np.arange(size))  # a word's own row first
        begin = begin + np.arange(size + 1)
        return kernels_predict.Inputs(begin, rows.astype(np.int32), _echo(begin, rows))

    def _skip_gram(
        self,
        share: kernels_predict.Share,
        inputs: kernels_predict.Inputs,
        room: kernels_predict.Scratch,
        input_: NDArray[np.float32],
        output: NDArray[np.float32],
        width: int,
    ) -> tuple[float, int]:
        return kernels_window.centre_skip_gram(share, self._targets, inputs, room, input_, output, width)


def _echo(begin: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """[V] Σ m² / Σ m over a word's different rows, each there m times: one that is there twice takes the step twice, and counts twice."""
    sizes = np.diff(begin)
    keys = np.repeat(np.arange(len(sizes)) * (int(rows.max()) + 1), sizes) + rows  # one number for a word and a row
    keys, times = np.unique(keys, return_counts=True)
    return (np.bincount(keys // (int(rows.max()) + 1), weights=times**2.0, minlength=len(sizes)) / sizes).astype(np.float32)
