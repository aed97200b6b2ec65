"""What a word is: for whole-word masking, and wherever pieces of one word must stay together."""

from __future__ import annotations

import enum
import functools
import itertools
import logging
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from plume.text.languages import has_han

# What jieba cuts as one: its dictionary has A股 and T恤, so that letters, digits and some signs beside Chinese characters go with them.
# A run of signs without Chinese characters is passed over once, not once from each of its signs: hence the look behind.
_RUNS = re.compile(r"(?<![A-Za-z0-9+#&._%-])[A-Za-z0-9+#&._%-]*+[\u4e00-\u9fd5][\u4e00-\u9fd5A-Za-z0-9+#&._%-]*")
_AT_ONCE = 500  # single characters that jieba's model is given: its time grows with the square of them


class Words(enum.StrEnum):
    """How words are told apart."""

    SPACES = "spaces"  # as the tokenizer's own first cut does; each Chinese character is a word
    JIEBA = "jieba"  # the same, but Chinese characters are grouped in words by jieba


def chinese_word_starts(text: str) -> NDArray[np.bool_]:
    """For each character whether a word may begin there: false strictly inside a Chinese word, true everywhere else.

    >>> text = "我来到北京清华大学 by bus"
    >>> "".join("|" * bool(start) + character for start, character in zip(chinese_word_starts(text), text))
    '|我|来到|北京|清华大学| |b|y| |b|u|s'
    """
    cut = _jieba().cut
    flags: list[bytes] = []
    done = 0
    for run in _RUNS.finditer(text):
        flags.append(b"\1" * (run.start() - done))
        flags += [b"\1" * len(word) if word.isascii() else b"\1".ljust(len(word), b"\0") for word in cut(run.group())]
        done = run.end()
    flags.append(b"\1" * (len(text) - done))
    return np.frombuffer(b"".join(flags), np.bool_)


def space_chinese_words(text: str) -> tuple[str, list[int]]:
    """The text with a space between Chinese words that stood together, and where (in the original) those were put in.

    >>> space_chinese_words("我在北京大学, ok")
    ('我 在 北京大学 , ok', [1, 2, 6])
    """
    if not has_han(text):
        return text, []
    starts = np.flatnonzero(chinese_word_starts(text)[1:]) + 1
    places = [place for place in starts.tolist() if not (text[place - 1].isspace() or text[place].isspace()) and _is_border(text, place)]
    bounds = [0, *places, len(text)]
    return " ".join(text[begin:end] for begin, end in itertools.pairwise(bounds)), places


def _is_border(text: str, place: int) -> bool:
    """Does a Chinese word begin or end there? Letters and digits among themselves are not ours to cut."""
    return has_han(text[place - 1 : place + 1])


class _Cutter:
    """jieba's cut with its default settings, word for word, at twice its speed: one table of logarithms, one pass, a memory for the rest.

    The likeliest path by word frequencies; runs of single characters on it go to jieba's hidden Markov model, which finds new words.
    """

    def __init__(self, frequencies: dict[str, int], total: int, find_new: Callable[[str], Iterator[str]]) -> None:
        # Mere beginnings of words have frequency 0: they keep the search going but are never chosen.
        self._scores = {word: math.log(count) - math.log(total) if count else -math.inf for word, count in frequencies.items()}
        self._unseen = -math.log(total)
        self._find_new = functools.lru_cache(1 << 16)(lambda run: tuple(find_new(run)))  # only short runs, so that memory is bounded

    def cut(self, run: str) -> list[str]:
        words: list[str] = []
        begin, singles = 0, 0  # where the run of single characters before `begin` started
        for end in self._ends(run):
            if end - begin > 1:
                words += self._single(run[singles:begin])
                words.append(run[begin:end])
                singles = end
            begin = end
        words += self._single(run[singles:])
        return words

    def _single(self, run: str) -> Sequence[str]:
        if len(run) < 2 or self._scores.get(run, -math.inf) > -math.inf:
            return run
        parts = (run[begin : begin + _AT_ONCE] for begin in range(0, len(run), _AT_ONCE))
        return [word for part in parts for word in self._find_new(part)] if len(run) > _AT_ONCE else self._find_new(run)

    def _ends(self, run: str) -> Iterator[int]:
        """Where the words of the likeliest path end; of equally likely ones the longest."""
        scores, size = self._scores, len(run)
        best, jump = [0.0] * (size + 1), [0] * size
        for begin in range(size - 1, -1, -1):
            top, chosen, end = -math.inf, 0, begin + 1
            score = scores.get(run[begin])
            while score is not None:
                score += best[end]
                if score >= top and score > -math.inf:
                    top, chosen = score, end
                end += 1
                score = scores.get(run[begin:end]) if end <= size else None
            best[begin], jump[begin] = (top, chosen) if chosen else (self._unseen + best[begin + 1], begin + 1)
        place = 0
        while place < size:
            place = jump[place]
            yield place


@functools.cache
def _jieba() -> _Cutter:
    """jieba's own dictionary, read afresh: its cache in a shared temporary folder may be unwritable, stale or another user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its source has escapes that newer Pythons warn about
        import jieba
        from jieba import finalseg
    jieba.setLogLevel(logging.CRITICAL)
    frequencies, total = jieba.Tokenizer.gen_pfdict(jieba.Tokenizer().get_dict_file())
    return _Cutter(frequencies, total, finalseg.cut)
