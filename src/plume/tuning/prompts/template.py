"""Templates: where the texts stand, where the label goes, and where tokens that are learned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError

SLOT = re.compile(r"\{\}|\{label\}|\{mask\}|\[MASK\]|<mask>|_{3,}")  # where the label goes
SLOT_IN_TEXT = re.compile(rf"#\w+#|{SLOT.pattern}")  # … where the text itself has the blank, as ChID's "#idiom#"
TEXTS = {"{text}": 0, "{text_a}": 0, "{text_b}": 1}
_SOFT = re.compile(r"\{soft(?::(\d+))?\}")
_CUTS = re.compile(r"(\{text(?:_[ab])?\}|\{soft(?::\d+)?\})")
_FIELD = re.compile(r"\{[^{}]*\}")


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
    if len(set(named)) < len(named):
        raise PlumeError(f"The template '{template}' says the same text twice: each stands in it once.")
    if missing := sorted(set(range(texts or 1)) - set(named)):
        places = ("{text}", "{text_b}")
        raise PlumeError(f"The template '{template}' lacks {places[missing[0]]}: each row has {_many(texts or 1)}.")
    if extra := sorted(set(named) - set(range(texts or 2))):
        raise PlumeError(f"The template '{template}' has {{text_b}}, and each row has {_many(extra[0])}.")


def _many(texts: int) -> str:
    return "one text" if texts == 1 else f"{texts} texts"


def read_templates(said: Sequence[str]) -> tuple[str, ...]:
    """Each a template; those of a file stand a line each."""
    found: list[str] = []
    for one in said:
        path = Path(one)
        if not SLOT.search(one) and path.suffix and path.is_file():
            lines = path.read_text(encoding="utf-8-sig").splitlines()
            found += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        else:
            found.append(one)
    return tuple(dict.fromkeys(found))
