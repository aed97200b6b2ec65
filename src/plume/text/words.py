"""What a word is: for whole-word masking, and wherever pieces of one word must stay together."""

from __future__ import annotations

import enum
import functools
import logging
import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.text.languages import HAN

# What a Chinese word may be made of: jieba's dictionary has 卡拉OK and T恤, so that letters and digits beside Han go with it.
_RUNS = re.compile(rf"[A-Za-z0-9]*[{HAN}][{HAN}A-Za-z0-9]*")
_HAN = re.compile(f"[{HAN}]")


class Words(enum.StrEnum):
    """How words are told apart."""

    SPACES = "spaces"  # as the tokeniser's own first cut does; each Chinese character is a word
    JIEBA = "jieba"  # the same, but Chinese characters are grouped in words by jieba


def chinese_word_starts(text: str) -> NDArray[np.bool_]:
    """For each character whether a word may begin there: false strictly inside a Chinese word, true everywhere else.

    >>> text = "我来到北京清华大学 by bus"
    >>> "".join("|" * bool(start) + character for start, character in zip(chinese_word_starts(text), text))
    '|我|来到|北京|清华大学| |b|y| |b|u|s'
    """
    starts = np.ones(len(text), np.bool_)
    for run in _RUNS.finditer(text):
        position = run.start()
        for word in _jieba().cut(run.group()):
            if len(word) > 1 and _HAN.search(word):
                starts[position + 1 : position + len(word)] = False
            position += len(word)
    return starts


@functools.cache
def _jieba() -> Any:
    """jieba with its own dictionary, read afresh: its cache in a shared temporary folder may be unwritable, stale or another user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its source has escapes that newer Pythons warn about
        import jieba
    jieba.setLogLevel(logging.CRITICAL)
    cutter = jieba.Tokenizer()
    cutter.FREQ, cutter.total = cutter.gen_pfdict(cutter.get_dict_file())
    cutter.initialized = True
    return cutter
