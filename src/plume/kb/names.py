"""Names, written so that the same name is the same string: NFKC, lower case, single spaces, without 《》 around it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_AROUND = {"《": "》", "〈": "〉", "“": "”", "「": "」", "『": "』", '"': '"', "[": "]", "【": "】"}
_BRACKET = re.compile(r"(.*?\S)\s*[(\[][^()\[\]]*[)\]]")
_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_BESIDE_HAN = re.compile(rf"(?<=[{_HAN}])\s+|\s+(?=[{_HAN}])")
_BRACKETLESS = 0.5  # of the weight of the full name
_WORDS = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+|[^\w\s]")


class _Characters(dict[int, str | int]):
    """What each character becomes, where it stays one character: found once for each."""

    def __missing__(self, code: int) -> str | int:
        plain = unicodedata.normalize("NFKC", chr(code)).lower()
        self[code] = made = " " if plain.isspace() else plain if len(plain) == 1 else code
        return made


_CHARACTERS = _Characters()


def flat(text: str) -> str:
    """The text in lower case and without width variants, every character in its place.

    >>> flat("Ｐlume\\n《Ａ》")
    'plume 《a》'
    """
    return text.translate(_CHARACTERS)


def normalised(name: str) -> str:
    """
    >>> normalised("《红楼梦》"), normalised("  The\\u3000 Beatles "), normalised("[x] [y]")
    ('红楼梦', 'the beatles', '[x] [y]')
    """
    plain = " ".join(flat(unicodedata.normalize("NFC", name)).split())
    while len(plain) > 2 and _AROUND.get(plain[0]) == plain[-1] and plain[-1] not in plain[1:-1]:
        plain = plain[1:-1].strip()
    return plain


def without_bracket(plain: str) -> str | None:
    """A normalised name without the bracket behind it, which tells it from others; None: it has none.

    >>> without_bracket("mercury (planet)"), without_bracket("m*a*s*h")
    ('mercury', None)
    """
    found = _BRACKET.fullmatch(plain)
    return normalised(found.group(1)) if found else None


def without_spaces(plain: str) -> str | None:
    """A normalised name as Chinese also writes it, with no space beside a Han character; None: it has none there.

    >>> without_spaces("方正 hr580 plus")
    '方正hr580 plus'
    """
    closed = _BESIDE_HAN.sub("", plain)
    return closed if closed != plain else None


def names_of(name: str) -> Iterator[tuple[str, float]]:
    """Every way in which a text may write a name, normalised, and how much of the name's weight each has.

    >>> list(names_of("Mercury (planet)")), list(names_of("《西游记》 1986"))
    ([('mercury (planet)', 1.0), ('mercury', 0.5)], [('《西游记》 1986', 1.0)])
    """
    plain = normalised(name)
    yield plain, 1.0
    bare = without_bracket(plain) if plain[-1:] in (")", "]") else None
    if bare:
        yield bare, _BRACKETLESS
    closed = without_spaces(plain) if " " in plain else None
    if closed:
        yield closed, 1.0


def words_in(plain: str) -> list[tuple[int, int]]:
    """Where the words of a flat text stand; each Han character is one, and each sign.

    >>> words_in("u.s. 红楼")
    [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (6, 7)]
    """
    return [one.span() for one in _WORDS.finditer(plain)]
