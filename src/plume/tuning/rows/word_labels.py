"""Labels of words, as numbers: what is learnt where the tokenizer drops a word, and what such a word is given in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from plume.readers.schemes import Span
from plume.tuning.rows.rows import Array
from plume.tuning.rows.word_cuts import FoundWords


def values_of_spans(answers: Sequence[Sequence[Span]], words: FoundWords, number: Mapping[str, int], notes: Counter[str]) -> Array:
    """[W] BIO labels of the words that entities touch."""
    values = np.full(len(words.start), number.get("O", 0))
    for spans, base, (first, last) in zip(answers, words.cut.character_bounds.tolist(), pairwise(words.bounds.tolist()), strict=False):
        starts, ends = words.start[first:last] - base, words.end[first:last] - base
        for span in spans:
            one, after = np.searchsorted(ends, span.start, side="right"), np.searchsorted(starts, span.end, side="left")
            if one >= after:
                notes["entities that the tokenizer drops"] += 1
                continue
            values[first + one : first + after] = number[f"I-{span.label}"]
            values[first + one] = number[f"B-{span.label}"]
            notes["entities whose edges lie inside a word"] += int(starts[one] != span.start or ends[after - 1] != span.end)
    return values


def with_beginnings(values: Array, asked: NDArray[np.bool_], labels: Sequence[str]) -> Array:
    """[W] where an entity's first word is not asked, the first that is becomes its beginning: a chain must not enter it in its middle.

    >>> with_beginnings(np.array([0, 1, 2, 2]), np.array([True, False, True, True]), ("O", "B-PER", "I-PER")).tolist()
    [0, 1, 1, 2]
    """
    number = {label: place for place, label in enumerate(labels)}
    begins = np.array([label.startswith("B-") for label in labels])
    begin_of = np.array([number.get(f"B-{label[2:]}", place) if label.startswith("I-") else place for label, place in number.items()])
    place = np.flatnonzero(asked)
    entity = np.cumsum(begins[values])[place]
    first = place[np.diff(entity, prepend=-1) != 0]
    values = values.copy()
    values[first] = begin_of[values[first]]
    return values


def with_dropped(chosen: Array, asked: NDArray[np.bool_], word_bounds: Array, labels: Sequence[str]) -> Array:
    """[W] words that nobody was asked about continue the entity that both their neighbours belong to.

    >>> with_dropped(np.array([1, 0, 2, 0]), np.array([True, False, True, True]), np.array([0, 4]), ("O", "B-PER", "I-PER")).tolist()
    [1, 2, 2, 0]
    """
    number = {label: place for place, label in enumerate(labels)}
    inside = np.array([label.startswith("I-") for label in labels])
    inside_of = np.array([number.get(f"I-{label[2:]}", place) if label.startswith("B-") else place for label, place in number.items()])
    place, dropped = np.flatnonzero(asked), np.flatnonzero(~asked)
    after = np.searchsorted(place, dropped)
    between = (after > 0) & (after < len(place))
    dropped, before, after = dropped[between], place[after[between] - 1], place[after[between]]
    example = np.repeat(np.arange(len(word_bounds) - 1), np.diff(word_bounds))
    same = (example[before] == example[dropped]) & (example[after] == example[dropped])
    same &= inside[chosen[after]] & (inside_of[chosen[before]] == chosen[after])
    chosen = chosen.copy()
    chosen[dropped[same]] = chosen[after[same]]
    return chosen
