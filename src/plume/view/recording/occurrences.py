"""Where a word occurs in a file: sentences, sampled over the whole of it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.corpus import Corpus
from plume.data.documents import suffix
from plume.readers.example import Reading
from plume.readers.table_choice import AnswerKind
from plume.readers.table_layout import find_layout
from plume.readers.tables import read_table
from plume.text.languages import UNSPACED
from plume.text.sentences import split_sentences

_AROUND = 300  # characters before and after the word that a model reads, where a sentence is longer


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """A word in a sentence; `label` is what the file says of the row."""

    text: str
    start: int
    end: int
    label: str | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """A sample of the occurrences, in the order of the file, and how many there are."""

    occurrences: list[Occurrence]
    total: int


def occurrences(file: str | Path, word: str, *, most: int = 300, label: str | None = None, text: str | None = None, seed: int = 0) -> Found:
    """Of a text or JSONL file, or of a table, where `text` and `label` name columns. A word in small letters is found in any case.

    Each occurrence is as likely as any other to be among the `most` that are kept.
    """
    return sampled(_sentences(Path(file), label, text), word, most=most, seed=seed, place=str(file))


def sampled(sentences: Iterable[tuple[str, str | None]], word: str, *, most: int, seed: int = 0, place: str = "the text") -> Found:
    """The same of sentences with their labels: a reservoir (Vitter 1985), so that the file is read once."""
    pattern, draw = pattern_of(word), random.Random(seed)
    kept: list[tuple[int, Occurrence]] = []
    total = 0
    for sentence, label in sentences:
        for match in pattern.finditer(sentence):
            found = (total, _cropped(sentence, *match.span(), label))
            if total < most:
                kept.append(found)
            elif (other := draw.randrange(total + 1)) < most:
                kept[other] = found
            total += 1
    if total < 3:
        raise PlumeError(
            f"'{word}' occurs {total or 'no'} time{'' if total == 1 else 's'} in {place}: three at least are needed to compare."
        )
    return Found(occurrences=[one for _, one in sorted(kept, key=lambda pair: pair[0])], total=total)


def pattern_of(word: str) -> re.Pattern[str]:
    """Whole words; where a script has no spaces, wherever it stands. Capital letters are kept apart only if the word has some.

    >>> [match.group() for match in pattern_of("bank").finditer("Bank, banks, river bank; bankrupt")]
    ['Bank', 'bank']
    >>> len(pattern_of("苹果").findall("苹果公司卖苹果"))
    2
    """
    if not word.strip():
        raise PlumeError("Say which word: --word bank.")
    word = word.strip()
    before = "" if re.match(f"[{UNSPACED}]", word[0]) else r"(?<!\w)" if word[0].isalnum() else ""
    after = "" if re.match(f"[{UNSPACED}]", word[-1]) else r"(?!\w)" if word[-1].isalnum() else ""
    spaced = r"\s+".join(map(re.escape, word.split()))
    return re.compile(f"{before}{spaced}{after}", re.IGNORECASE if word == word.lower() else 0)


def _cropped(sentence: str, start: int, end: int, label: str | None) -> Occurrence:
    """What stands around it, cut at spaces."""
    first, last = max(0, start - _AROUND), min(len(sentence), end + _AROUND)
    if first and (space := sentence.find(" ", first, start)) >= 0:
        first = space + 1
    if last < len(sentence) and (space := sentence.rfind(" ", end, last)) >= 0:
        last = space
    return Occurrence(text=sentence[first:last], start=start - first, end=end - first, label=label)


def _sentences(file: Path, label: str | None, text: str | None) -> Iterator[tuple[str, str | None]]:
    if label is None and text is None and suffix(file) not in (".csv", ".tsv"):
        for document in Corpus(file).documents():
            for paragraph in document.paragraphs:
                yield from ((sentence, None) for sentence in split_sentences(paragraph))
        return
    answer = None if label is None else AnswerKind.LABEL
    layout = find_layout([file], texts=1, answer=answer, text_columns=[text] if text else [], answer_column=label)
    for example in read_table([file], layout, Reading(file=file), answer=AnswerKind.LABEL, labelled=label is not None):
        yield from ((sentence, example.answer) for sentence in split_sentences(example.texts[0]))
