"""Which language each text of an example is in, for models with a vector for each language (XLM)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.text.known_languages import Languages
from plume.text.pieces import Joined

_USUAL = 0.95  # of the texts whose language can be told: so many make it that of the others


def with_language(examples: Iterable[Example], said: str | None) -> Iterator[Example]:
    """The examples in the language that was said, whatever their file says; two with a comma between them: of a pair's texts.

    >>> [example.languages for example in with_language([Example(texts=("a", "b"))], "en,de")]
    [('en', 'de')]
    """
    languages = () if said is None else tuple(part.strip() for part in said.split(","))
    if len(languages) > 2 or not all(languages):
        raise PlumeError(f"'{said}' is no language: say one, or two for the texts of pairs, as in en,de.")
    return (replace(example, languages=languages) if languages else example for example in examples)


def languages_of(examples: Sequence[Example], cuts: Sequence[Joined], known: Languages, usual: int | None) -> list[list[int]]:
    """[examples, texts] numbers: what was said, else found. A text that says too little has the language of the other one beside it, or
    the `usual` one; where nobody knows it, that is an error."""
    rows = [_told(example, [_ids(cut, number) for cut in cuts], known) for number, example in enumerate(examples)]
    for number, row in enumerate(rows):
        for place, language in enumerate(row):
            if language is None and usual is None and all(other is None for other in row):
                several = len(examples) > 1
                raise known.unclear(examples[number].texts[place], _place(examples[number], number if several else None))
    return [[next(one for one in (language, *row, usual) if one is not None) for language in row] for row in rows]


def usual_language(examples: Sequence[Example], cuts: Sequence[Joined], known: Languages) -> int | None:
    """The one that nearly all texts are in, of those that can be told."""
    rows = (_told(example, [_ids(cut, number) for cut in cuts], known) for number, example in enumerate(examples))
    counts = Counter(language for row in rows for language in row if language is not None)
    if not counts:
        return None
    ((language, count),) = counts.most_common(1)
    return language if count >= _USUAL * counts.total() else None


def _told(example: Example, ids: Sequence[np.ndarray], known: Languages) -> list[int | None]:
    """Of each text; None: it cannot be told."""
    said = [example.languages[min(place, len(example.languages) - 1)] if example.languages else "" for place in range(len(ids))]
    try:
        texts = zip(said, example.texts, ids, strict=False)
        return [known.number(language) if language else known.find(text, own) for language, text, own in texts]
    except PlumeError as error:
        raise PlumeError(f"{_place(example)}: {error}" if example.line else str(error)) from None


def _ids(cut: Joined, number: int) -> np.ndarray:
    return cut.ids[cut.token_bounds[number] : cut.token_bounds[number + 1]]


def _place(example: Example, number: int | None = None) -> str:
    if example.line:
        return f"line {example.line}"
    return "" if number is None else f"text {number + 1}"
