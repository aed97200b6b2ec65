"""Long documents cut into passages: whole sentences, up to so many words, each with its place in the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from plume.text.languages import HAN
from plume.text.sentences import sentence_starts

_WORD = re.compile(rf"[{HAN}]|[^\W{HAN}]+")


def cut_passages(text: str, *, words: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Where each passage begins and ends. A passage begins with the last sentences of the one before, up to `overlap` words of them.

    >>> text = "One two. Three four. Five six."
    >>> [text[begin:end] for begin, end in cut_passages(text, words=4)]
    ['One two. Three four.', 'Five six.']
    >>> [text[begin:end] for begin, end in cut_passages(text, words=4, overlap=2)]
    ['One two. Three four.', 'Three four. Five six.']
    """
    found: list[tuple[int, int]] = []
    held: list[tuple[int, int, int]] = []  # sentences of the passage to come: begin, end, words
    fresh = False  # is there one among them that no passage has yet?
    for sentence in _sentences(text, words):
        if fresh and _size(held) + sentence[2] > words:
            found.append((held[0][0], held[-1][1]))
            while held and (_size(held) > overlap or _size(held) + sentence[2] > words):
                held.pop(0)
        held.append(sentence)
        fresh = True
    if held and fresh:
        found.append((held[0][0], held[-1][1]))
    return [trimmed for begin, end in found if (trimmed := _trimmed(text, begin, end))]


def _size(sentences: list[tuple[int, int, int]]) -> int:
    return sum(words for _, _, words in sentences)


def _sentences(text: str, longest: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and number of words; a sentence that is longer than a passage comes in parts."""
    starts = sentence_starts(text)
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        places = [word.start() for word in _WORD.finditer(text, begin, end)]
        cuts = [begin, *places[longest::longest], end]
        for number, (first, last) in enumerate(pairwise(cuts)):
            yield first, last, min(longest, len(places) - number * longest)


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int] | None:
    inner = text[begin:end].strip()
    if not inner:
        return None
    begin = text.index(inner[0], begin)
    return begin, begin + len(inner)
