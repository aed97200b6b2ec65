"""How good word vectors are: against people's judgements of similarity, and on analogies."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.static.vectors import WordVectors, unit_rows

_SHOWN = 10  # unknown words listed in a result
_SCORES_AT_ONCE = 1 << 24  # questions x words scored together: 64 MB


@dataclass(frozen=True, kw_only=True)
class SimilarityResult:
    """Spearman's and Pearson's correlation with the file's scores, over the pairs whose words both have vectors."""

    name: str
    pairs: int
    used: int
    spearman: float
    pearson: float
    unknown: tuple[str, ...]  # the first few words without a vector


@dataclass(frozen=True, kw_only=True)
class AnalogySection:
    """The questions of one kind (capitals, plurals …) and how many were answered right."""

    name: str
    questions: int
    used: int  # those whose four words are known
    correct: int

    @property
    def accuracy(self) -> float | None:
        """Of the questions whose words are known."""
        return self.correct / self.used if self.used else None

    @property
    def left_out(self) -> int:
        """Questions with a word that is not known."""
        return self.questions - self.used


@dataclass(frozen=True, kw_only=True)
class AnalogyResult:
    """All sections of a file of analogies, and their sum."""

    name: str
    sections: tuple[AnalogySection, ...]
    total: AnalogySection
    unknown: tuple[str, ...]


def similarity(vectors: WordVectors, path: Path | str, *, unseen: bool = False) -> SimilarityResult:
    """Correlation with a file of `word word score` lines; with `unseen`, fastText's n-grams stand in for words it never saw."""
    path = Path(path)
    rows = list(_pairs(path))
    lookup = _Lookup(vectors, unseen=unseen)
    pairs = [(lookup(first), lookup(second), score) for first, second, score in rows]
    known = [(first, second, score) for first, second, score in pairs if first is not None and second is not None]
    if len(known) < 2:
        raise PlumeError(_nothing(path, f"{len(known)} of {len(rows)} pairs", vectors, lookup.unknown))
    units = [unit_rows(vectors.stack(side).astype(np.float64)) for side in list(zip(*known, strict=True))[:2]]
    cosine = np.einsum("nd,nd->n", *units)
    scores = np.array([score for _, _, score in known])
    return SimilarityResult(
        name=path.stem, pairs=len(rows), used=len(known), spearman=_correlation(ranks(cosine), ranks(scores)),
        pearson=_correlation(cosine, scores), unknown=tuple(lookup.unknown)[:_SHOWN],
    )  # fmt: skip


def analogy(vectors: WordVectors, path: Path | str, *, most: int | None = 50_000, unseen: bool = False) -> AnalogyResult:
    """Share of questions `a b c d` in which d is the word nearest to b - a + c (3CosAdd), the three words of the question left out.

    Answers are looked for among the `most` most frequent words (the rows are taken to be in that order), as is usual: Google's own program
    takes 30,000. Questions with a word outside are left out and counted.
    """
    path = Path(path)
    questions = list(_questions(path))
    among = len(vectors) if most is None else min(most, len(vectors))
    lookup = _Lookup(vectors, unseen=unseen, among=among)
    words = [[lookup(word) for word in four] for _, four in questions]
    answers = [vectors.index.get(four[3] or "", among) for four in words]  # an answer must be one of the words looked among
    known = np.array([None not in four and answer < among for four, answer in zip(words, answers, strict=True)], bool)
    if not known.any():
        raise PlumeError(_nothing(path, f"none of {len(questions):,} questions", vectors, lookup.unknown))
    asked = [[word or "" for word in four[:3]] for four, good in zip(words, known, strict=True) if good]
    correct = np.zeros(len(questions), bool)
    correct[known] = _nearest(vectors, asked, among) == np.array(answers)[known]
    sections = tuple(_section(name, [place for _, place in group], known, correct) for name, group in _grouped(questions))
    total = _section("total", range(len(questions)), known, correct)
    return AnalogyResult(name=path.stem, sections=sections, total=total, unknown=tuple(lookup.unknown)[:_SHOWN])


def _nearest(vectors: WordVectors, asked: Sequence[Sequence[str]], among: int) -> NDArray[np.int64]:
    """[Q]: for each (a, b, c) the row nearest to b - a + c among the first `among`, a, b and c themselves left out."""
    distinct = {word: place for place, word in enumerate(dict.fromkeys(word for three in asked for word in three))}
    units = unit_rows(vectors.stack(distinct))
    rows = np.array([vectors.index.get(word, -1) for word in distinct])
    rows[rows >= among] = -1
    places = np.array([[distinct[word] for word in three] for three in asked])  # [Q, 3]
    best = np.empty(len(asked), np.int64)
    at_once = max(1, _SCORES_AT_ONCE // among)
    for first in range(0, len(asked), at_once):
        part = places[first : first + at_once]
        scores = (units[part[:, 1]] - units[part[:, 0]] + units[part[:, 2]]) @ vectors.unit[:among].T  # [part, among]
        question, column = np.nonzero(rows[part] >= 0)
        scores[question, rows[part][question, column]] = -np.inf
        best[first : first + at_once] = scores.argmax(1)
    return best


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs.

    >>> ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(sizes) - (sizes - 1) / 2)[group]


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Pearson's; not a number where one side does not vary."""
    one, other = one - one.mean(), other - other.mean()
    scale = np.sqrt((one @ one) * (other @ other))
    return float(one @ other / scale) if scale > 0 else float("nan")


def _section(name: str, places: Sequence[int], known: NDArray[np.bool_], correct: NDArray[np.bool_]) -> AnalogySection:
    chosen = np.array(places)
    return AnalogySection(name=name, questions=len(chosen), used=int(known[chosen].sum()), correct=int(correct[chosen].sum()))


def _grouped(questions: list[tuple[str, list[str]]]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    named = [(name, place) for place, (name, _) in enumerate(questions)]
    for name, group in groupby(named, key=lambda pair: pair[0]):
        yield name, list(group)


class _Lookup:
    """From a word of a test file to one that has a vector: as written, or in lower case when the vocabulary has no capitals at all."""

    def __init__(self, vectors: WordVectors, *, unseen: bool, among: int | None = None) -> None:
        self._vectors, self._unseen, self._among = vectors, unseen, len(vectors) if among is None else among
        self._lower = not any(word != word.lower() for word in vectors.words if not word.startswith("<"))  # <UNK> is no word
        self.unknown: dict[str, None] = {}  # in the order met

    def __call__(self, word: str) -> str | None:
        same = word.lower() if self._lower else word
        if self._vectors.index.get(same, self._among) < self._among or (self._unseen and self._vectors.knows(same)):
            return same
        self.unknown[word] = None
        return None


def _nothing(path: Path, what: str, vectors: WordVectors, unknown: dict[str, None]) -> str:
    head = ", ".join(list(unknown)[:5])
    hint = " With a fastText model, unseen words can be made from their n-grams (--unseen)." if vectors.ngrams is not None else ""
    return (
        f"{path}: {what} can be answered with these {len(vectors):,} words (unknown: {head}). Is it the same language and spelling?{hint}"
    )


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without empty ones and comments."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PlumeError(f"Cannot read {path}: {error}.") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def _pairs(path: Path) -> Iterator[tuple[str, str, float]]:
    """`word word score`, separated by tabs, commas or spaces, with or without a header; columns after the third are left alone."""
    head = True
    for number, line in _text_lines(path):
        fields = [field.strip() for field in _fields(line)]
        try:
            yield fields[0], fields[1], float(fields[2])
        except (IndexError, ValueError):
            if not head:
                raise PlumeError(
                    f"{path}:{number}: '{line[:60]}' is not two words and a score, separated by tabs, commas or spaces. "
                    "Correct the line, or begin it with # to leave it out."
                ) from None
        head = False


def _fields(line: str) -> list[str]:
    if "\t" in line:
        return line.split("\t")
    return next(csv.reader([line])) if "," in line else line.split()


def _questions(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Four words a line under `: section` lines (Google's questions-words.txt, and CA8)."""
    section = path.stem
    for number, line in _text_lines(path):
        if line.startswith(":"):
            section = line[1:].strip()
            continue
        four = re.split(r"\s+", line)
        if len(four) != 4:
            raise PlumeError(
                f"{path}:{number}: {len(four)} words where an analogy has four: '{line[:60]}'. Correct the line, or begin it with # to leave it out."
            )
        yield section, four
