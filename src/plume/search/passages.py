"""Long documents cut into passages: whole sentences, up to so many words, each with its place in the document."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from plume.text.languages import HAN
from plume.text.sentences import sentence_starts

_WORD = re.compile(rf"[{HAN}]|[^\W{HAN}]+")
_LONGEST_WORD = 20  # characters: what has fewer words than one in so many (signs, codes, scripts without spaces) is cut by its length


class _Sentence(NamedTuple):
    begin: int
    end: int
    words: int


def cut_passages(text: str, *, words: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Where each passage begins and ends. A passage begins with the last sentences of the one before, up to `overlap` words of them.

    >>> text = "One two. Three four. Five six."
    >>> [text[begin:end] for begin, end in cut_passages(text, words=4)]
    ['One two. Three four.', 'Five six.']
    >>> [text[begin:end] for begin, end in cut_passages(text, words=4, overlap=2)]
    ['One two. Three four.', 'Three four. Five six.']
    """
    found: list[tuple[int, int]] = []
    held, size = deque[_Sentence](), 0  # sentences of the passage to come, and their words
    for sentence in _sentences(text, words):
        if held and not _fits(held[0].begin, sentence.end, size + sentence.words, words):
            found.append((held[0].begin, held[-1].end))
            while held and not (
                _fits(held[0].begin, held[-1].end, size, overlap) and _fits(held[0].begin, sentence.end, size + sentence.words, words)
            ):
                size -= held.popleft().words
        held.append(sentence)
        size += sentence.words
    if held:
        found.append((held[0].begin, held[-1].end))
    return [trimmed for begin, end in found if (trimmed := _trimmed(text, begin, end))]


def _fits(begin: int, end: int, size: int, words: int) -> bool:
    return size <= words and end - begin <= _LONGEST_WORD * words


def _sentences(text: str, longest: int) -> Iterator[_Sentence]:
    """A sentence that is longer than a passage comes in parts: cut before a word, or where there is none within its length, anywhere."""
    starts = sentence_starts(text)
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        cut, size = begin, 0
        for word in _WORD.finditer(text, begin, end):
            if size and not _fits(cut, word.end(), size + 1, longest):
                yield from _by_length(_Sentence(cut, word.start(), size), longest)
                cut, size = word.start(), 0
            size += 1
        yield from _by_length(_Sentence(cut, end, size), longest)


def _by_length(part: _Sentence, longest: int) -> Iterator[_Sentence]:
    step = _LONGEST_WORD * longest
    return (_Sentence(begin, min(begin + step, part.end), part.words) for begin in range(part.begin, part.end, step))


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int] | None:
    inner = text[begin:end].strip()
    if not inner:
        return None
    begin = text.index(inner[0], begin)
    return begin, begin + len(inner)
