"""Text of any length for functions whose time or memory grows with it: in parts, and where it is no text but one endless run."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from plume.text.languages import UNSPACED

LONGEST_RUN = 1_000  # characters; what goes on for so long without a space is an encoded file or a damaged line, not a word
_BREAK = re.compile(rf"[\s{UNSPACED}]")


def parts(text: str, *, longest: int) -> Iterator[str]:
    """The text in parts of at most so many characters, cut before a space; where there is none, before a whole character.

    >>> list(parts("one two three", longest=8)), list(parts("天地玄黄", longest=3))
    (['one two', ' three'], ['天地玄', '黄'])
    """
    start = 0
    while len(text) - start > longest:
        cut = text.rfind(" ", start + longest // 2 + 1, start + longest + 1)
        if cut < 0:
            cut = start + longest
            marks = range(cut, max(start, cut - 10), -1)  # a letter keeps its accents
            cut = next((place for place in marks if not unicodedata.combining(text[place])), cut)
        yield text[start:cut]
        start = cut
    yield text[start:]


def long_runs(text: str) -> Iterator[tuple[int, int]]:
    """Where runs of `LONGEST_RUN` characters or more without a space begin and end; scripts that are written without spaces do not count.

    >>> list(long_runs("see " + "Qm9" * 500 + " and " + "天地" * 800))
    [(4, 1504)]
    """
    start = 0
    while start + LONGEST_RUN <= len(text):
        last = _BREAK.search(text[start : start + LONGEST_RUN][::-1])  # from the end: most windows are passed over in one step
        if last:
            start += LONGEST_RUN - last.start()
            continue
        found = _BREAK.search(text, start + LONGEST_RUN)
        end = found.start() if found else len(text)
        yield start, end
        start = end + 1


def without_long_runs(text: str) -> str:
    """
    >>> without_long_runs("see " + "Qm9" * 500 + " there")
    'see   there'
    """
    kept, done = [], 0
    for begin, end in long_runs(text):
        kept.append(text[done:begin])
        done = end
    return " ".join([*kept, text[done:]]) if kept else text
