"""Text put together from pieces: without the spaces that a tokenizer's decoder puts where nobody writes them."""

from __future__ import annotations

import re

from plume.text.languages import HAN

_WIDE = r"\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"  # CJK punctuation: never a space beside it
_KANA = r"\u3040-\u30ff"
_SHARED = r"“”‘’…—·"  # used by both scripts: no space if the other side is Chinese
_CJK = f"{HAN}{_WIDE}{_KANA}"

# A run of spaces is tried from its first one only: from each of them would take the square of its length.
_RUN = "(?<! ) ++"
_CHINESE = re.compile(f"{_RUN}(?=[{_WIDE}])|(?<=[{_WIDE}]) ++|(?<=[{_CJK}]) ++(?=[{_CJK}{_SHARED}])|(?<=[{_SHARED}]) ++(?=[{_CJK}])")
_BEFORE_SIGN = re.compile(rf"{_RUN}(?=[.,!?;:%)\]}}])")
_AFTER_OPENING = re.compile(r"(?<=[(\[{]) +")
SURROGATE = re.compile("[\ud800-\udfff]")
_CONTRACTION = re.compile(r"(?i)(?<=\w) ?' ?(?=(?:s|t|re|ve|ll|d|m)\b)")
TIDYING = ((_CHINESE, ""), (_BEFORE_SIGN, ""), (_AFTER_OPENING, ""), (_CONTRACTION, "'"))  # one after the other, each by what


def tidy_spaces(text: str) -> str:
    """
    >>> tidy_spaces("我 爱 python 编 程 ， it doesn ' t hurt ( much ) .")
    "我爱 python 编程，it doesn't hurt (much)."
    """
    for pattern, by in TIDYING:
        text = pattern.sub(by, text)
    return text


def without_surrogates(text: str) -> str:
    """Halves of surrogate pairs, which JSON and file names can hold but UTF-8 cannot, as U+FFFD: of the same length."""
    return SURROGATE.sub("\ufffd", text)
