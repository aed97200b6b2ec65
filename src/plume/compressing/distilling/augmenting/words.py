"""A text as words that can be exchanged, and what stands between them. Chinese is cut by jieba; where a file has words of its own, by them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from plume.readers.example import Example
from plume.text.languages import HAN, has_han
from plume.text.words import chinese_word_starts

_WORD = re.compile(rf"[{HAN}]+|[^\W{HAN}]+(?:['’-][^\W{HAN}]+)*")


@dataclass(frozen=True, kw_only=True)
class CutText:
    """Words, and what stands before each of them and behind the last: one more."""

    words: tuple[str, ...]
    between: tuple[str, ...]

    @property
    def text(self) -> str:
        """Put together again."""
        return "".join(part for pair in zip(self.between, self.words, strict=False) for part in pair) + self.between[-1]

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where each word stands in the text."""
        found, place = [], 0
        for before, word in zip(self.between, self.words, strict=False):
            begin = place + len(before)
            place = begin + len(word)
            found.append((begin, place))
        return tuple(found)


def cut_at(text: str, spans: Sequence[tuple[int, int]]) -> CutText:
    """A text by where its words stand, in their order."""
    edges = [0, *(end for _, end in spans)]
    between = [text[end:begin] for end, (begin, _) in zip(edges, spans, strict=False)]
    return CutText(words=tuple(text[begin:end] for begin, end in spans), between=(*between, text[edges[-1] :]))


def cut_words(text: str) -> CutText:
    """By spaces and marks, and Chinese as jieba does.

    >>> cut_words("The cat's box, 我来到北京.").words
    ('The', "cat's", 'box', '我', '来到', '北京')
    """
    starts = chinese_word_starts(text) if has_han(text) else None
    spans: list[tuple[int, int]] = []
    for found in _WORD.finditer(text):
        begin, end = found.span()
        inside = (
            [] if starts is None else [place for place in range(begin + 1, end) if starts[place] and has_han(text[place - 1 : place + 1])]
        )
        edges = [begin, *inside, end]
        spans += pairwise(edges)
    return cut_at(text, spans)


def cut_example(example: Example) -> list[CutText]:
    """Each of its texts; the first by the file's own words, if it has some."""
    if example.words is None:
        return [cut_words(text) for text in example.texts]
    return [cut_at(example.texts[0], example.words), *(cut_words(text) for text in example.texts[1:])]
