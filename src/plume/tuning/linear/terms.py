"""Terms of texts and of words in their sentences, and the table of their columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from plume.text.languages import HAN
from plume.tuning.linear.recipe import TermRecipe
from plume.tuning.rows.questions import TokenQuestions
from plume.tuning.rows.rows import TextRows

_SPELLED = "\t"  # what the n-grams of a word's characters begin with: no word does
_HAN = re.compile(f"[{HAN}]")
_EDGE = "\n"  # before the first and behind the last word of a sentence
_MANY = 1 << 18  # terms: of more, those that occur once are left out

Floats = NDArray[np.float32]


class Terms:
    """Which term has which column; those of words first, then those of characters."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self.column = {name: place for place, name in enumerate(self.names)}
        self.words = sum(not name.startswith(_SPELLED) for name in self.names)

    @classmethod
    def of(cls, bags: Iterable[Sequence[str]]) -> Terms:
        """All that occur, in an order that does not depend on that of the texts."""
        counts = Counter(chain.from_iterable(bags))
        least = 2 if len(counts) > _MANY else 1
        return cls(sorted((name for name, count in counts.items() if count >= least), key=lambda name: (name.startswith(_SPELLED), name)))

    def counts(self, bags: Sequence[Sequence[str]]) -> csr_matrix:
        """[bags, terms] how often each occurs in each."""
        columns = [[place for name in bag if (place := self.column.get(name)) is not None] for bag in bags]
        begin = np.concatenate([[0], np.cumsum([len(one) for one in columns])]).astype(np.int64)
        flat = np.fromiter(chain.from_iterable(columns), np.int64, int(begin[-1]))
        made = csr_matrix((np.ones(len(flat), np.float32), flat, begin), shape=(len(bags), len(self.names)))
        made.sum_duplicates()
        return made


def rarity(counts: csr_matrix) -> Floats:
    """[terms] the logarithm of how few texts have a term, smoothed as if one text more had them all."""
    texts = np.bincount(counts.indices, minlength=counts.shape[1])
    return (np.log((1 + counts.shape[0]) / (1 + texts)) + 1).astype(np.float32)


def weighted(counts: csr_matrix, rare: Floats, words: int) -> csr_matrix:
    """TF-IDF: a term's second occurrence says less than its first; words and characters count alike, however many there are."""
    made = counts.copy()
    made.data = (1 + np.log(made.data)) * rare[made.indices]
    return hstack([_unit(made[:, :words]), _unit(made[:, words:])], format="csr")


def paired(first: csr_matrix, second: csr_matrix, words: int) -> csr_matrix:
    """[pairs, 3 terms + 3] what both texts have, what only the first, what only the second; and how much of it: by words, by characters, at all."""
    both = first.minimum(second)
    product = first.multiply(second).tocsr()
    alike = [product[:, :words].sum(1), product[:, words:].sum(1), both.sum(1) / np.maximum(first.maximum(second).sum(1), 1e-9)]
    return hstack([both, first - both, second - both, csr_matrix(np.hstack(alike).astype(np.float32))], format="csr")


def _unit(matrix: csr_matrix) -> csr_matrix:
    """Rows of length 1."""
    matrix = matrix.tocsr()
    norm = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
    matrix.data = matrix.data / np.repeat(np.maximum(norm, 1e-9), np.diff(matrix.indptr)).astype(np.float32)
    return matrix


def text_terms(words: Sequence[str], recipe: TermRecipe) -> list[str]:
    """The n-grams of a text's words, in lower case, and of the characters within a word.

    >>> text_terms(["A", "cat"], TermRecipe(longest=2))
    ['a', 'cat', 'a cat', '\\t c', '\\tca', '\\tat', '\\tt ']
    >>> text_terms(list("北京人"), TermRecipe())
    ['北', '京', '人', '北 京', '京 人', '北 京 人']
    """
    low = [word.lower() for word in words]
    found = list(low)
    for size in range(2, max(recipe.words, recipe.characters) + 1):
        for place in range(len(low) - size + 1):
            some = low[place : place + size]
            if size <= recipe.words or (size <= recipe.characters and all(map(_is_han, some))):
                found.append(" ".join(some))
    return found + [gram for word in low for gram in _spelled(word, recipe)]


def _is_han(word: str) -> bool:
    return len(word) == 1 and _HAN.match(word) is not None


def _spelled(word: str, recipe: TermRecipe) -> list[str]:
    """n-grams of its characters with a space on either side; a single character is all that there is of it."""
    if len(word) < 2:
        return []
    whole = f" {word} "
    sizes = range(recipe.shortest, min(recipe.longest, len(whole)) + 1)
    return [_SPELLED + whole[place : place + size] for size in sizes for place in range(len(whole) - size + 1)]


def sentence_terms(words: Sequence[str], recipe: TermRecipe) -> list[list[str]]:
    """For each word: itself and its neighbours by their distance, pairs of them, and the n-grams of their characters, as they are written.

    >>> sentence_terms(["of", "Rome"], TermRecipe(window=1, longest=2))[0]
    ['0=\\n', '1=of', '2=Rome', '0+\\n of', '1+of Rome', '\\t1 o', '\\t1of', '\\t1f ', '\\t2 R', '\\t2Ro', '\\t2om', '\\t2me', '\\t2e ']
    """
    around = [_EDGE] * recipe.window + list(words) + [_EDGE] * recipe.window
    spelled = {word: [gram.removeprefix(_SPELLED) for gram in _spelled(word, recipe)] for word in set(around)}
    found = []
    for place in range(len(words)):
        near = around[place : place + 2 * recipe.window + 1]
        own = [f"{distance}={word}" for distance, word in enumerate(near)]
        own += [f"{distance}+{first} {second}" for distance, (first, second) in enumerate(pairwise(near))]
        found.append(own + [f"{_SPELLED}{distance}{gram}" for distance, word in enumerate(near) for gram in spelled[word]])
    return found


def texts_of(rows: TextRows, tokens: Sequence[str], text: int) -> list[list[str]]:
    """The words of each row's first or second text, as they are written."""
    names = np.array([*tokens, *rows.unseen], object)
    there = rows.text == text
    flat = names[rows.tokens[there]].tolist()
    begin = np.concatenate([[0], np.cumsum(there)])[rows.bounds].tolist()
    return [flat[first:last] for first, last in pairwise(begin)]


def sentences_of(questions: TokenQuestions, tokens: Sequence[str]) -> list[list[str]]:
    """The words of each row that something is asked about, as they are written: each from its first token to the next word's."""
    rows = questions.rows
    names = np.array([*tokens, *rows.unseen], object)
    last = rows.bounds[1:] - 1  # the token that ends a row is none of its words
    found = []
    for row, (first, after) in enumerate(pairwise(questions.asked.tolist())):
        begin = (questions.column[first:after] + rows.bounds[row]).tolist()
        found.append(["".join(names[rows.tokens[one:two]]) for one, two in pairwise([*begin, int(last[row])])])
    return found
