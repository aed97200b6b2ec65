"""A look at a corpus of pairs before training on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plume.data.corpus import Corpus, CorpusKind
from plume.data.duplicates import DuplicateCounter
from plume.text.languages import count_words

UNLIKELY = 4  # times longer, or shorter, than its partner usually is: probably not its translation


@dataclass(frozen=True, kw_only=True)
class PairExamination:
    """Counts of the whole corpus. A Chinese character counts as a word."""

    files: tuple[Path, ...]
    pairs: int
    languages: tuple[str, ...]
    words: tuple[float, float]  # a sentence, on each side
    duplicates: int  # second and later ones
    same: int  # pairs whose sides are equal
    unlikely: int  # pairs whose lengths do not go together
    warnings: tuple[str, ...] = ()


def examine_pairs(paths: str | Path | Sequence[str | Path]) -> PairExamination:
    """Read every pair once; a line without two sides raises."""
    corpus = Corpus(paths, kind=CorpusKind.PAIRS)
    lengths: list[tuple[int, int]] = []
    seen, same = DuplicateCounter(), 0
    languages: tuple[str, ...] = ()
    for document in corpus.documents():
        source, target = document.paragraphs
        languages = languages or document.languages or ()
        lengths.append((count_words(source), count_words(target)))
        seen.add(f"{source}\t{target}")
        same += source == target
    size = np.maximum(np.array(lengths, float).reshape(-1, 2), 1)
    ratio = np.log(size[:, 0] / size[:, 1])
    unlikely = np.abs(ratio - np.median(ratio)) > np.log(UNLIKELY) if len(ratio) else ratio > 0
    found = {
        "files": corpus.files,
        "pairs": len(lengths),
        "languages": languages,
        "words": tuple(size.mean(0).tolist()) if len(size) else (0.0, 0.0),
        "duplicates": seen.duplicates(),
        "same": same,
        "unlikely": int((unlikely & (size.max(1) > 5)).sum()),
    }
    plain = PairExamination(**found)  # type: ignore[arg-type]
    return PairExamination(**found, warnings=tuple(_warnings(plain)))  # type: ignore[arg-type]


def _warnings(found: PairExamination) -> Iterator[str]:
    if found.pairs == 0:
        yield "There are no pairs at all."
        return
    if found.same > 0.01 * found.pairs:
        yield f"{found.same:,} of {found.pairs:,} pairs have two equal sides: they teach copying, not translation. Remove them."
    if found.unlikely > 0.05 * found.pairs:
        yield (
            f"{found.unlikely:,} of {found.pairs:,} pairs have sides of very different length: do the sides align? A line lost on one side "
            "shifts all that follow."
        )
    if found.duplicates > 0.01 * found.pairs:
        yield f"{found.duplicates:,} of {found.pairs:,} pairs are duplicates: the held-out loss will look better than it is. Remove them."
