"""Sentences of English and Chinese text, by rule."""

from __future__ import annotations

import itertools
import re

from plume.text.languages import is_han

_CLOSERS = "”’」』）)】》〉\\]\"'"
# A run of terminators with the quotes and brackets that close after it; a line break ends a sentence too.
_CANDIDATE = re.compile(rf"(?P<run>[.!?。！？；｡…]+)(?P<closers>[{_CLOSERS}]*)|[\r\n]+")
_WIDE = frozenset("。！？；｡")
_COMMAS = frozenset("，、：；,:;")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NUMBERED = _set("no nos fig figs vol vols p pp ch sec art eq jan feb mar apr jun jul aug sep sept oct nov dec")
_NEVER_LAST = _set(
    "mr mrs ms mx dr prof gen sen rep gov col lt sgt capt cmdr maj rev hon st mt ft messrs mme mlle fr vs e.g i.e cf viz approx"
)
_SELDOM_LAST = _set("inc ltd co corp bros jr sr etc al dept est ave blvd u.s u.k u.n e.u d.c a.m p.m ph.d b.a m.a")
_OPENING_WORDS = _set(
    "the a an in on at as by for from to with after before when while if it he she they we i you his her their our its this that these "
    "those there but and or so however also some many most all no not one two what who why how where then now according"
)
_NEXT_WORD = re.compile(r"[\s\"'“‘(\[]*([A-Za-z]+)(?![.\w])")
_LEADING = "(\"'“‘[《（「"


def split_sentences(text: str) -> list[str]:
    """The sentences in order, without the space around them; no other character is lost.

    >>> split_sentences('Dr. Wu paid $3.50 in the U.S. market. "Why?" he asked. 他笑了。“走吧！”她说。')
    ['Dr. Wu paid $3.50 in the U.S. market.', '"Why?" he asked.', '他笑了。', '“走吧！”', '她说。']
    """
    starts = [*sentence_starts(text), len(text)]
    pieces = (text[start:end].strip() for start, end in itertools.pairwise(starts))
    return [piece for piece in pieces if piece]


def sentence_starts(text: str) -> list[int]:
    """Where each sentence begins; the space between two belongs to the second. The first begins at 0.

    >>> sentence_starts("One. Two.")
    [0, 4]
    """
    starts = [0]
    for candidate in _CANDIDATE.finditer(text):
        end = _end(text, starts[-1], candidate)
        if end is not None and starts[-1] < end < len(text) and not text[starts[-1] : end].isspace():
            starts.append(end)
    return starts


def _end(text: str, start: int, candidate: re.Match[str]) -> int | None:
    """Where the sentence ends if it ends at this candidate."""
    run = candidate["run"]
    if run is None:
        return candidate.start()  # a line break
    following = text[candidate.end() : candidate.end() + 1]
    if not following or following in _COMMAS:
        return None
    if not _WIDE.isdisjoint(run):
        return _after_wide(text, start, candidate)
    if following.isspace():
        return candidate.end() if _ends_before_space(text, start, candidate) else None
    return candidate.end() if _ends_before_chinese(text, candidate, following) else None


def _after_wide(text: str, start: int, candidate: re.Match[str]) -> int:
    """After 。 a straight quote closes only if one is open: otherwise it opens the next sentence."""
    closers = candidate["closers"]
    if closers[:1] in ('"', "'") and text.count(closers[0], start, candidate.end("run")) % 2 == 0:
        return candidate.end("run")
    return candidate.end()


def _ends_before_space(text: str, start: int, candidate: re.Match[str]) -> bool:
    rest = text[candidate.end() : candidate.end() + 40].lstrip()
    if not rest or rest.lstrip(_LEADING)[:1].islower():
        return False
    if candidate["run"] != ".":
        return True
    words = text[max(start, candidate.start() - 30) : candidate.start()].split()
    last = words[-1].lstrip(_LEADING).lower() if words else ""
    if last in _NUMBERED and rest[0].isdigit():
        return False
    if last in _NEVER_LAST or text[start : candidate.start()].strip().isdecimal():  # "1." opens an item of a list
        return False
    if last in _SELDOM_LAST or _is_initial(last):
        opening = _NEXT_WORD.match(rest)
        return opening is not None and opening[1].lower() in _OPENING_WORDS
    return True


def _is_initial(word: str) -> bool:
    """A letter by itself, or letters with dots between: J, U.S, Ph.D."""
    return all(len(part) == 1 and part.isalpha() and not is_han(part) for part in word.split(".")) if word else False


def _ends_before_chinese(text: str, candidate: re.Match[str], following: str) -> bool:
    """Western signs in Chinese text: 真的吗?我不信."""
    if not (is_han(following) or following in "“「『（《"):
        return False
    before = text[candidate.start() - 1 : candidate.start()]
    return candidate["run"] != "." or is_han(before)
