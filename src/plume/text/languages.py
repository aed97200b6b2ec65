"""Scripts: which ones a text is written in, how much of it is Chinese, how much Latin."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# CJK ideographs, their extensions and compatibility forms, and the zero 〇.
HAN = r"\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Han.
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
LATIN = r"A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"

SCRIPTS = {
    "latin": LATIN,
    "han": HAN,
    "kana": r"\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff",
    "hangul": r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "cyrillic": r"\u0400-\u052f",
    "greek": r"\u0370-\u03ff\u1f00-\u1fff",
    "arabic": r"\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff",
    "hebrew": r"\u0590-\u05ff",
    "armenian": r"\u0530-\u058f",
    "georgian": r"\u10a0-\u10ff",
    "ethiopic": r"\u1200-\u139f",
    "devanagari": r"\u0900-\u097f",
    "bengali": r"\u0980-\u09ff",
    "gurmukhi": r"\u0a00-\u0a7f",
    "gujarati": r"\u0a80-\u0aff",
    "tamil": r"\u0b80-\u0bff",
    "telugu": r"\u0c00-\u0c7f",
    "kannada": r"\u0c80-\u0cff",
    "malayalam": r"\u0d00-\u0d7f",
    "sinhala": r"\u0d80-\u0dff",
    "thai": r"\u0e00-\u0e7f",
    "lao": r"\u0e80-\u0eff",
    "burmese": r"\u1000-\u109f",
    "khmer": r"\u1780-\u17ff",
}
_DENSE = 4  # letters that say as much as one character of these:
_DENSE_SCRIPTS = ("han", "hangul")

_SCRIPT_RUNS = re.compile("|".join(f"(?P<{name}>[{letters}]+)" for name, letters in SCRIPTS.items()))
_HAN = re.compile(f"[{HAN}]")
_HAN_RUNS = re.compile(f"[{HAN}]+")
_LATIN_RUNS = re.compile(f"[{LATIN}]+")
_LETTER_RUNS = re.compile(r"[^\W\d_]+")
_WORDS = re.compile(rf"[{HAN}]|[^\W{HAN}]+")


@dataclass(frozen=True, kw_only=True)
class LanguageMix:
    """Letters counted by script."""

    han: int
    latin: int
    other: int

    @property
    def letters(self) -> int:
        """Of all scripts."""
        return self.han + self.latin + self.other

    def share(self, count: int) -> float:
        """So many letters as a share of all."""
        return count / max(1, self.letters)


def language_mix(text: str) -> LanguageMix:
    """
    >>> language_mix("plume 是工作台, да")
    LanguageMix(han=4, latin=5, other=2)
    """
    han = _length(_HAN_RUNS, text)
    latin = _length(_LATIN_RUNS, text)
    return LanguageMix(han=han, latin=latin, other=max(0, _length(_LETTER_RUNS, text) - han - latin))


def mix_of_counts(counts: NDArray[np.int64]) -> LanguageMix:
    """The same from a count of each code point: for text that is too long for one string."""
    present = "".join(chr(code) for code in np.flatnonzero(counts))
    totals = [
        sum(int(counts[ord(letter)]) for run in runs.findall(present) for letter in run) for runs in (_HAN_RUNS, _LATIN_RUNS, _LETTER_RUNS)
    ]
    return LanguageMix(han=totals[0], latin=totals[1], other=max(0, totals[2] - totals[0] - totals[1]))


def count_scripts(text: str) -> Counter[str]:
    """Letters by script; a Chinese character counts as four.

    >>> count_scripts("我喜欢 Python 3")
    Counter({'han': 12, 'latin': 6})
    """
    counts: Counter[str] = Counter()
    for run in _SCRIPT_RUNS.finditer(text):
        assert run.lastgroup is not None, "every alternative is named"
        counts[run.lastgroup] += (run.end() - run.start()) * (_DENSE if run.lastgroup in _DENSE_SCRIPTS else 1)
    return counts


def scripts_of(counts: Counter[str]) -> list[str]:
    """The scripts that make up a tenth or more, the most used first."""
    return [script for script, count in counts.most_common() if 10 * count >= counts.total()]


def is_han(character: str) -> bool:
    """
    >>> is_han("文"), is_han("，"), is_han("w")
    (True, False, False)
    """
    return _HAN.match(character) is not None


def has_han(text: str) -> bool:
    """Is there a Chinese character in it?"""
    return not text.isascii() and _HAN.search(text) is not None


def count_words(text: str) -> int:
    """Words of a language with spaces, each Chinese character as one.

    >>> count_words("three words, 四个汉字")
    6
    """
    return len(_WORDS.findall(text))


def han_mask(codes: NDArray[Any]) -> NDArray[np.bool_]:
    """`is_han` over an array of code points."""
    return (
        ((codes >= 0x4E00) & (codes <= 0x9FFF))
        | ((codes >= 0x3400) & (codes <= 0x4DBF))
        | ((codes >= 0x20000) & (codes <= 0x3FFFF))
        | ((codes >= 0xF900) & (codes <= 0xFAFF))
        | (codes == 0x3007)
    )


def _length(runs: re.Pattern[str], text: str) -> int:
    return sum(map(len, runs.findall(text)))
