"""Sentences of English and Chinese text, by rule; and text without sentence ends (transcripts, chat, verse, text8) cut at a stated length."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from plume.text.languages import HAN, is_han

# What goes on for more characters than this is no sentence: it is cut every so many words, about a long sentence's, so that families that
# work on sentences find some. A Chinese character counts as a word, and so do each 20 characters of a run without a space.
LONGEST_SENTENCE = 1_000
WORDS_A_PIECE = 32
_PIECE = re.compile(rf"(?:\s{{0,20}}(?:[{HAN}]|[^\s{HAN}]{{1,20}})){{1,{WORDS_A_PIECE}}}|\s{{1,1000}}")

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
_SOLID = re.compile(r"\S")
_LONGEST_NUMBER = 100  # characters; of a long text only so many are looked at
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
    starts = whole_sentence_starts(text)
    return sorted([*starts, *cuts_between(text, starts)]) if len(text) > LONGEST_SENTENCE else starts


def whole_sentence_starts(text: str) -> list[int]:
    """The same for sentences as they are, however long."""
    starts, solid = [0], _next_solid(text, 0)
    for candidate in _CANDIDATE.finditer(text):
        end = _end(text, starts[-1], solid, candidate)
        if end is not None and solid < end < len(text):  # there is more than space in it
            starts.append(end)
            solid = _next_solid(text, end)
    return starts


def cuts_between(text: str, starts: Sequence[int]) -> list[int]:
    """Where the sentences that begin at `starts` are cut because they are over `LONGEST_SENTENCE`: before a space or a Chinese character.

    >>> text = "word " * 300
    >>> [text[start : start + 5] for start in cuts_between(text, [0])][:2], len(cuts_between(text, [0]))
    ([' word', ' word'], 9)
    """
    return [
        piece.start()
        for begin, end in itertools.pairwise([*starts, len(text)])
        if end - begin > LONGEST_SENTENCE
        for piece in itertools.islice(_PIECE.finditer(text, begin, end), 1, None)
        if piece.end() < end or not piece.group().isspace()  # space at the end is no piece
    ]


def cut_warning(pieces: int, sentences: int) -> str | None:
    """What to say if `pieces` of so many sentences go on with the one before; a few long lists are nobody's concern."""
    if pieces < 0.01 * sentences:
        return None
    return (
        f"Text without sentence ends: what goes on for over {LONGEST_SENTENCE:,} characters is cut every {WORDS_A_PIECE} words (or Chinese "
        f"characters), and {pieces / sentences:.0%} of the sentences are such pieces. GPT and word vectors read it whole."
    )


def _next_solid(text: str, start: int) -> int:
    """The first character from `start` on that is no space."""
    found = _SOLID.search(text, start)
    return found.start() if found else len(text)


def _end(text: str, start: int, solid: int, candidate: re.Match[str]) -> int | None:
    """Where the sentence ends if it ends at this candidate. `solid` is where it begins, less the space before it."""
    run = candidate["run"]
    if run is None:
        return candidate.start()  # a line break
    following = text[candidate.end() : candidate.end() + 1]
    if not following or following in _COMMAS:
        return None
    if not _WIDE.isdisjoint(run):
        return _after_wide(text, start, candidate)
    if following.isspace():
        return candidate.end() if _ends_before_space(text, solid, candidate) else None
    return candidate.end() if _ends_before_chinese(text, candidate, following) else None


def _after_wide(text: str, start: int, candidate: re.Match[str]) -> int:
    """After 。 a straight quote closes only if one is open: otherwise it opens the next sentence."""
    closers = candidate["closers"]
    if closers[:1] in ('"', "'") and text.count(closers[0], start, candidate.end("run")) % 2 == 0:
        return candidate.end("run")
    return candidate.end()


def _ends_before_space(text: str, solid: int, candidate: re.Match[str]) -> bool:
    rest = text[candidate.end() : candidate.end() + 40].lstrip()
    if not rest or rest.lstrip(_LEADING)[:1].islower():
        return False
    if candidate["run"] != ".":
        return True
    words = text[max(solid, candidate.start() - 30) : candidate.start()].split()
    last = words[-1].lstrip(_LEADING).lower() if words else ""
    if last in _NUMBERED and rest[0].isdigit():
        return False
    if last in _NEVER_LAST:
        return False
    if (
        candidate.start() - solid <= _LONGEST_NUMBER and text[solid : candidate.start()].rstrip().isdecimal()
    ):  # "1." opens an item of a list
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
