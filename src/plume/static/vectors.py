"""Static word vectors in use: similarity, neighbours, analogies, and sentence vectors, whichever trainer or file they came from."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.static.ngrams import ngram_lists
from plume.static.sif import Mean, Weighting

_SPELLINGS = 50_000  # near spellings are looked for among so many of the most frequent words: enough, and it answers at once
_WORDS_AT_ONCE = 100_000  # bounds the memory of sentence vectors


@dataclass(frozen=True)
class Neighbour:
    """A word and how similar it is."""

    word: str
    similarity: float  # cosine


@dataclass(frozen=True, kw_only=True, eq=False)
class CharacterNGrams:
    """fastText's rows for character n-grams (Bojanowski et al. 2017, §3.2), from which words never seen get a vector."""

    matrix: NDArray[np.float32]  # [buckets, D]
    shortest: int
    longest: int

    @property
    def buckets(self) -> int:
        """How many rows n-grams share."""
        return len(self.matrix)

    def lists(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many rows each word has [W], and the rows of all in turn; fastText's end of line, `</s>`, has none (dictionary.cc)."""
        if self.buckets == 0:
            return np.zeros(len(words), np.int64), np.zeros(0, np.int64)
        begin, ids = ngram_lists(words, shortest=self.shortest, longest=self.longest, buckets=self.buckets)
        sizes, end = np.diff(begin), np.array([word == "</s>" for word in words], bool)
        return np.where(end, 0, sizes), ids[~np.repeat(end, sizes)]

    def ids(self, word: str) -> NDArray[np.int64]:
        """The rows of a word's n-grams."""
        return self.lists([word])[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class WordVectors:
    """A word, a vector; for fastText a vector for every other word too.

    >>> vectors = WordVectors(words=("king", "queen", "apple"), matrix=np.array([[2, 1], [1, 1], [-1, 3]], np.float32))
    >>> vectors.most_similar("king", top=1)[0].word
    'queen'
    """

    words: tuple[str, ...]
    matrix: NDArray[np.float32]  # [V, D]; for fastText a word's own row and its n-grams' already averaged
    counts: NDArray[np.int64] | None = None  # how often each word occurred; word2vec's files do not say
    ngrams: CharacterNGrams | None = None
    notes: tuple[str, ...] = ()  # what the reader of a file found and mended

    def __post_init__(self) -> None:
        if (
            self.matrix.ndim != 2
            or len(self.words) != len(self.matrix)
            or (self.counts is not None and len(self.counts) != len(self.words))
        ):
            counts = "no" if self.counts is None else str(len(self.counts))
            raise PlumeError(f"{len(self.words)} words, {counts} counts and a matrix of {self.matrix.shape} do not go together.")
        if len(self.index) != len(self.words):
            raise PlumeError(f"{len(self.words) - len(self.index)} of {len(self.words)} words occur twice; each word needs one row.")
        if self.ngrams is not None and self.ngrams.buckets and self.ngrams.matrix.shape[1] != self.dimension:
            raise PlumeError(f"The n-grams have {self.ngrams.matrix.shape[1]} dimensions, the words {self.dimension}.")

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    @property
    def dimension(self) -> int:
        """Of each vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """A word's row."""
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        """Rows of length one [V, D]; a row of zeros stays."""
        return unit_rows(self.matrix)

    def knows(self, word: str) -> bool:
        """Whether the word has a vector: in the vocabulary, or through its n-grams."""
        return word in self.index or (self.ngrams is not None and len(self.ngrams.ids(word)) > 0)

    def vector(self, word: str) -> NDArray[np.float32]:
        """The word's vector [D]; with n-grams also for words never seen."""
        row = self.index.get(word)
        if row is not None:
            return self.matrix[row]
        ids = self.ngrams.ids(word) if self.ngrams is not None else None
        if self.ngrams is None or ids is None or len(ids) == 0:
            raise PlumeError(self._unknown(word))
        return self.ngrams.matrix[ids].mean(0)

    def stack(self, words: Iterable[str]) -> NDArray[np.float32]:
        """[N, D], a row for each word."""
        return np.array([self.vector(word) for word in words], np.float32).reshape(-1, self.dimension)

    def similarity(self, first: str, second: str) -> float:
        """The cosine of two words."""
        one, other = unit_rows(self.stack((first, second)).astype(np.float64))
        return float(one @ other)

    def most_similar(self, positive: str | Sequence[str], negative: str | Sequence[str] = (), *, top: int = 10) -> list[Neighbour]:
        """The words nearest to the sum of `positive` minus `negative` (3CosAdd, over unit vectors); the words asked with are left out."""
        positive, negative = _listed(positive), _listed(negative)
        if not positive and not negative:
            raise PlumeError("Neighbours of nothing: name at least one word.")
        if top < 1:
            raise PlumeError(f"top={top}: ask for at least one neighbour.")
        signs = np.array([1.0] * len(positive) + [-1.0] * len(negative))
        query = signs @ unit_rows(self.stack(chain(positive, negative)).astype(np.float64))
        scores = self.unit @ unit_rows(query[None])[0].astype(np.float32)  # [V]
        asked = [self.index[word] for word in chain(positive, negative) if word in self.index]
        scores[asked] = -np.inf
        return [Neighbour(self.words[row], float(scores[row])) for row in _largest(scores, min(top, len(self) - len(set(asked))))]

    def analogy(self, first: str, second: str, third: str, *, top: int = 10) -> list[Neighbour]:
        """`first` is to `second` as `third` is to …: man, king, woman gives queen (Mikolov et al. 2013, §4)."""
        return self.most_similar((second, third), (first,), top=top)

    def sentence_vectors(self, sentences: Sequence[Sequence[str]], *, weighting: Weighting | None = None) -> NDArray[np.float32]:
        """[N, D]: the weighted mean of the words' vectors (`Mean()`, or `SIF()` of plume.static.sif); unknown words are passed over,
        and a sentence without any known word is a row of zeros.
        """
        weighting = weighting or Mean()
        rows = np.array([self.index.get(word, -1) for sentence in sentences for word in sentence], np.int64)
        weights = weighting.weights(self.counts, len(self))  # [V + 1]: the last is for words never seen
        table = self.matrix
        if self.ngrams is not None and (rows < 0).any():
            rows, table = self._with_unseen(sentences, rows)
        sizes = np.array([len(sentence) for sentence in sentences], np.int64)
        return _weighted_means(table, rows, weights[np.minimum(rows, len(self))], sizes).astype(np.float32)

    def _with_unseen(self, sentences: Sequence[Sequence[str]], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows behind the vocabulary's for the words that only their n-grams know."""
        flat = list(chain.from_iterable(sentences))
        places = np.flatnonzero(rows < 0)
        unseen = {word: 0 for word in (flat[place] for place in places) if self.knows(word)}
        unseen = {word: len(self) + number for number, word in enumerate(unseen)}
        rows[places] = [unseen.get(flat[place], -1) for place in places]
        return rows, np.concatenate([self.matrix, self.stack(unseen)])

    def _unknown(self, word: str) -> str:
        if self.ngrams is not None:
            return f"'{word}' is not in the vocabulary, and is too short for n-grams of {self.ngrams.shortest} to {self.ngrams.longest} characters."
        near = next(([same] for same in (word.lower(), word.capitalize(), word.upper()) if same in self), None)
        near = near or difflib.get_close_matches(word.lower(), self.words[:_SPELLINGS], n=3, cutoff=0.6 if word.isascii() else 0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "a fastText model has vectors for words it never saw."
        return f"'{word}' is not among the {len(self):,} words of these vectors; {hint}"


def unit_rows(matrix: NDArray[Any]) -> NDArray[Any]:
    """Each row divided by its length, in the matrix's own precision; a row of zeros stays."""
    norms = np.sqrt(np.einsum("vd,vd->v", matrix, matrix))
    return np.asarray(matrix / np.where(norms > 0, norms, 1)[:, None], matrix.dtype)


def _listed(words: str | Sequence[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _largest(scores: NDArray[np.float32], top: int) -> NDArray[np.int64]:
    """Places of the `top` largest scores, largest first, equal ones in the vocabulary's order."""
    if top < len(scores):
        least = np.partition(scores, len(scores) - top)[len(scores) - top]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")][:top]


def _weighted_means(
    table: NDArray[np.float32], rows: NDArray[np.int64], weights: NDArray[np.float64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """[N, D]: sums of weight x vector over each sentence's known words, divided by how many those are (as the code of SIF does)."""
    owner = np.repeat(np.arange(len(sizes)), sizes)[rows >= 0]
    weights, rows = weights[rows >= 0], rows[rows >= 0]
    sums = np.zeros((len(sizes), table.shape[1]))
    for first in range(0, len(rows), _WORDS_AT_ONCE):
        part = slice(first, first + _WORDS_AT_ONCE)
        starts = np.flatnonzero(np.diff(owner[part], prepend=-1))
        sums[owner[part][starts]] += np.add.reduceat(weights[part, None] * table[rows[part]], starts, axis=0)
    return sums / np.maximum(np.bincount(owner, minlength=len(sizes)), 1)[:, None]
