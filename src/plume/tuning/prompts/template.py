"""Templates: where the texts stand, where the label goes, and where tokens that are learned."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.lines import read_lines

SLOT = re.compile(r"\{\}|\{label\}|\{mask\}|\[MASK\]|<mask>|_{3,}")  # where the label goes
_SLOTS_IN_TEXT = (re.compile(r"#idiom\w*#"), SLOT, re.compile(r"#\w+#"))  # where the text itself has the blank, as ChID's; the surest first
TEXTS = {"{text}": 0, "{text_a}": 0, "{text_b}": 1}
_SOFT = re.compile(r"\{soft(?::(\d+))?\}")
_CUTS = re.compile(r"(\{text(?:_[ab])?\}|\{soft(?::\d+)?\})")
_FIELD = re.compile(r"\{[^{}]*\}")
_EXAMPLE = "'{text} It was ___.'"
_LONGEST = 1 << 20  # bytes of a line


@dataclass(frozen=True)
class Fixed:
    """Words of the template; one of them may hold the blank."""

    said: str

    @property
    def slot(self) -> re.Match[str] | None:
        """The blank."""
        return SLOT.search(self.said)


@dataclass(frozen=True)
class Text:
    """One of the example's texts. `spaced`: the space before it is its own, as in running text."""

    number: int
    spaced: bool


@dataclass(frozen=True)
class Soft:
    """Tokens that stand for nothing but vectors that are learned (P-tuning, arXiv:2103.10385)."""

    numbers: tuple[int, ...]


Piece = Fixed | Text | Soft


def slot_in_text(text: str) -> re.Match[str] | None:
    """Where a text has the blank itself. Posts mark their subjects as others do blanks.

    >>> slot_in_text("#足球# 他们#idiom#。")[0]
    '#idiom#'
    """
    return next(filter(None, (one.search(text) for one in _SLOTS_IN_TEXT)), None)


def with_text(template: str) -> str:
    """With a place for the text, before everything else where it has none.

    >>> with_text("It is ___."), with_text("总之很___。")
    ('{text} It is ___.', '{text}总之很___。')
    """
    if any(name in template for name in TEXTS):
        return template
    return f"{{text}} {template}" if template.isascii() else "{text}" + template


def pieces_of(template: str, *, texts: int | None = None, blank_in_text: bool = False) -> list[Piece]:
    """A template's pieces, in order. `texts` that every row has must all stand in it; the blank may stand in the text itself.

    >>> pieces_of("{text} It is ___.")
    [Text(number=0, spaced=False), Fixed(said=' It is ___.')]
    """
    _check(template, texts, blank_in_text)
    found: list[Piece] = []
    soft = 0
    for said in filter(None, _CUTS.split(template)):
        if said in TEXTS:
            before = found[-1] if found else None
            spaced = isinstance(before, Fixed) and before.said.endswith(" ")
            if isinstance(before, Fixed) and spaced:
                found[-1] = Fixed(before.said.rstrip(" "))
            found.append(Text(TEXTS[said], spaced))
        elif tokens := _SOFT.fullmatch(said):
            count = int(tokens[1] or 1)
            found.append(Soft(tuple(range(soft, soft + count))))
            soft += count
        else:
            found.append(Fixed(said))
    return [piece for piece in found if not (isinstance(piece, Fixed) and not piece.said)]


def without_soft(template: str) -> str:
    """For a model that has not learned them.

    >>> without_soft("{soft:3}{text}{soft} It is ___.")
    '{text} It is ___.'
    """
    return _SOFT.sub("", template)


def soft_tokens(template: str) -> int:
    """How many tokens of it are learned.

    >>> soft_tokens("{soft:3}{text}{soft}___")
    4
    """
    return sum(int(tokens[1] or 1) for tokens in _SOFT.finditer(template))


def _check(template: str, texts: int | None, blank_in_text: bool) -> None:
    blanks = len(SLOT.findall(template))
    if blanks > 1 or (not blanks and not blank_in_text):
        raise PlumeError(f"The template '{template}' needs one blank for the label, ___ or [MASK], and has {blanks or 'none'}.")
    named = [TEXTS[one] for one in _CUTS.findall(template) if one in TEXTS]
    known = (*TEXTS, "{soft}", "{}", "{label}", "{mask}")
    if strange := [one for one in _FIELD.findall(template) if one not in known and not _SOFT.fullmatch(one)]:
        raise PlumeError(
            f"The template '{template}' has {strange[0]}, which stands for nothing: use {{text}}, {{text_b}}, {{soft:3}} and ___."
        )
    if none := [one[0] for one in _SOFT.finditer(template) if one[1] is not None and not int(one[1])]:
        raise PlumeError(f"The template '{template}' has {none[0]}, which is no token that could be learned: write {{soft:1}} or more.")
    if len(set(named)) < len(named):
        raise PlumeError(f"The template '{template}' says the same text twice: each stands in it once.")
    if missing := sorted(set(range(texts or 1)) - set(named)):
        places = ("{text}", "{text_b}")
        raise PlumeError(f"The template '{template}' lacks {places[missing[0]]}: each row has {_many(texts or 1)}.")
    if extra := sorted(set(named) - set(range(texts or 2))):
        raise PlumeError(f"The template '{template}' has {{text_b}}, and each row has {_many(extra[0])}.")


def _many(texts: int) -> str:
    return "one text" if texts == 1 else f"{texts} texts"


def read_templates(said: Sequence[str], *, blank_in_text: bool = False) -> tuple[str, ...]:
    """Each a template; those of a file stand a line each, and what is wrong with one is said with its line."""
    found: list[str] = []
    for one in said:
        if not SLOT.search(one) and os.path.isfile(one):  # which takes names of any length
            found += _of_file(Path(one), blank_in_text)
        elif one and not SLOT.search(one) and "{" not in one:
            raise PlumeError(f"'{one}' is no file, and no template either: that has {{text}} and a blank, such as {_EXAMPLE}.")
        else:
            found.append(one)
    return tuple(dict.fromkeys(found))


def _of_file(path: Path, blank_in_text: bool) -> list[str]:
    """One a line; lines that begin with # say something to who reads them."""
    found: list[str] = []
    for number, line in read_lines(path, longest=_LONGEST):
        template = line.removeprefix("\ufeff").strip()
        if not template or template.startswith("#"):
            continue
        try:
            pieces_of(template, texts=2 if "{text_b}" in template else 1, blank_in_text=blank_in_text)
        except PlumeError as refused:
            raise PlumeError(f"{path}, line {number}: {refused}") from None
        found.append(template)
    if not found:
        raise PlumeError(f"{path} holds no template: write one a line, such as {_EXAMPLE}.")
    return found
