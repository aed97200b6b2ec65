"""Semantic textual similarity: Spearman's correlation of cosines with people's scores (SentEval; docs/sentences.md says how years are averaged)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plume.core.embedder import Embedder
from plume.core.errors import PlumeError
from plume.metrics.scores import number_scores
from plume.readers.example import Example, Reading
from plume.readers.table_choice import AnswerKind
from plume.readers.table_layout import find_layout
from plume.readers.tables import read_table
from plume.vectors.transforms.normalise import Normalise

_SUFFIXES = (".tsv", ".csv", ".txt", ".jsonl", ".json", ".gz")


@dataclass(frozen=True, kw_only=True)
class Subset:
    """One file."""

    name: str
    year: str  # of STS12 to STS16, or ""
    pairs: int
    spearman: float


@dataclass(frozen=True, kw_only=True)
class Together:
    """Several files of a year, or all: three ways to make one number of them, which papers mix up."""

    name: str
    pairs: int
    joined: float  # all pairs in one list ("all": SBERT, SimCSE)
    mean: float  # over the files
    weighted: float  # by how many pairs they have (BERT-flow, BERT-whitening)


@dataclass(frozen=True, kw_only=True)
class STSResult:
    """Of all files."""

    subsets: tuple[Subset, ...]
    together: tuple[Together, ...]  # each year of several files; at the end all files, if there are several


def sts(model: Embedder, paths: Sequence[Path], *, text_columns: Sequence[str] = (), score_column: str | None = None) -> STSResult:
    """Measure on files of pairs with scores; a folder stands for all its files."""
    found: list[tuple[Subset, NDArray[np.float64], NDArray[np.float64]]] = []
    files = list(sts_files(paths))
    for file, name in zip(files, _names(files), strict=True):
        examples = read_pairs(file, text_columns=text_columns, score_column=score_column)
        gold, cosine = np.array([one.answer for one in examples], np.float64), cosines(model, examples)
        year = re.match(r"(?:STS)?-?(?:20)?(1\d)(?=\D|$)", file.name)
        subset = Subset(name=name, year="" if year is None else f"20{year[1]}", pairs=len(gold), spearman=_spearman(gold, cosine))
        found.append((subset, gold, cosine))
    years = sorted({subset.year for subset, _, _ in found} - {""})
    groups = [(year, [one for one in found if one[0].year == year]) for year in years]
    groups = [(name, some) for name, some in groups if len(some) > 1 and len(some) < len(found)]
    groups += [("all", found)] if len(found) > 1 else []
    return STSResult(subsets=tuple(one[0] for one in found), together=tuple(_together(name, some) for name, some in groups))


def read_pairs(path: Path, *, text_columns: Sequence[str] = (), score_column: str | None = None) -> list[Example]:
    """Pairs with a number each, whose columns are found; 0 and 1 are numbers too."""
    layout = find_layout([path], texts=2, answer=AnswerKind.SCORE, text_columns=text_columns, answer_column=score_column)
    examples = list(read_table([path], layout, Reading(file=path), answer=AnswerKind.SCORE, labelled=True))
    if len(examples) < 2:
        raise PlumeError(f"{path}: a correlation needs at least two pairs with scores, and there are {len(examples)}.")
    return examples


def cosines(model: Embedder, examples: Sequence[Example]) -> NDArray[np.float64]:
    """[N] of the two texts of each pair. Every text is embedded once."""
    place = {text: number for number, text in enumerate(dict.fromkeys(text for one in examples for text in one.texts))}
    unit = Normalise().apply(model.embed(list(place))).astype(np.float64)
    left, right = ([place[one.texts[side]] for one in examples] for side in (0, 1))
    return np.asarray((unit[left] * unit[right]).sum(1))


def sts_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that were named, and those of folders, in the order of their names."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = sorted(file for file in path.iterdir() if file.is_file() and file.suffix in _SUFFIXES)
        if not inside:
            raise PlumeError(f"{path} holds no file of pairs: they end in {', '.join(_SUFFIXES)}.")
        yield from inside


def _names(files: Sequence[Path]) -> list[str]:
    """File names, with their folders where two are called alike."""
    names = [file.stem for file in files]
    return [name if names.count(name) == 1 else f"{file.parent.name}/{name}" for name, file in zip(names, files, strict=True)]


def _together(name: str, some: Sequence[tuple[Subset, NDArray[np.float64], NDArray[np.float64]]]) -> Together:
    gold, cosine = (np.concatenate([one[side] for one in some]) for side in (1, 2))
    scores, sizes = np.array([one[0].spearman for one in some]), np.array([one[0].pairs for one in some])
    return Together(
        name=name,
        pairs=int(sizes.sum()),
        joined=_spearman(gold, cosine),
        mean=float(scores.mean()),
        weighted=float((scores * sizes).sum() / sizes.sum()),
    )


def _spearman(gold: NDArray[np.float64], cosine: NDArray[np.float64]) -> float:
    return number_scores(gold.tolist(), cosine.tolist())["spearman"]
