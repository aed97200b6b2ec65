"""The words by which a passage is found, of texts and of queries alike."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from plume.search.settings import Analysis
from plume.text.languages import HAN, has_han
from plume.text.words import chinese_word_starts

_RUNS = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")


def terms(text: str, analysis: Analysis) -> list[str]:
    """In small letters, without a plural's s; of Chinese words with over two characters also each two in a row.

    >>> terms("The Cats’ 清华大学", Analysis.JIEBA)
    ['the', 'cat', '清华大学', '清华', '华大', '大学']
    >>> terms("cities 北京人", Analysis.TRIGRAM)
    ['city', '北京', '京人', '北京人']
    """
    text = (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()
    if not has_han(text):
        return [_singular(word) for word in _RUNS.findall(text)]
    starts = chinese_word_starts(text) if analysis is Analysis.JIEBA else None
    found: list[str] = []
    for run in _RUNS.finditer(text):
        word = run.group()
        if not has_han(word[0]):
            found.append(_singular(word))
        elif starts is None:
            found += _in_a_row(word, 2) if len(word) > 1 else word
            found += _in_a_row(word, 3)
        else:
            cuts = [0, *(place for place in range(1, len(word)) if starts[run.start() + place]), len(word)]
            for begin, end in pairwise(cuts):
                found.append(word[begin:end])
                if end - begin > 2:
                    found += _in_a_row(word[begin:end], 2)
    return found


def _in_a_row(word: str, size: int) -> Iterator[str]:
    return (word[begin : begin + size] for begin in range(len(word) - size + 1))


@functools.lru_cache(1 << 16)
def _singular(word: str) -> str:
    """Harman 1991, "How effective is suffixing?": the S stemmer, which is seldom wrong."""
    if len(word) < 4 or word[-1] != "s":
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    if word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    return word if word[-2] in "us" else word[:-1]
