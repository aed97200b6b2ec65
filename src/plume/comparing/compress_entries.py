"""How a user writes what is to be made small: METHOD[:STUDENT or setting=value …][@MODEL], as in distil:bert/tiny:temperature=4@minilm.

Within a study paths are absolute, as those of its models are (`naming.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from plume.comparing import naming
from plume.core.errors import PlumeError

_STUDENT = "student"


@dataclass(frozen=True, kw_only=True)
class CompressEntry:
    """A method, what is set of it, and the model that it is for; "": every one that it fits."""

    method: str
    settings: tuple[tuple[str, str], ...] = ()
    of: str = ""

    @property
    def told(self) -> str:
        """Method and settings as they were written, of a path its last part.

        >>> read_entry("distil:/home/me/little:temperature=4@minilm").told
        'distil:little:temperature=4'
        """
        return ":".join([self.method, *(naming.called(value) if name == _STUDENT else f"{name}={value}" for name, value in self.settings)])

    @property
    def path(self) -> Path | None:
        """The student's directory or recipe file, if it names one."""
        return next((naming.path_in(value) for name, value in self.settings if name == _STUDENT), None)


def read_entry(text: str) -> CompressEntry:
    """
    >>> read_entry("heads:keep=0.5"), read_entry("int8@distil:bert/tiny@bert").of
    (CompressEntry(method='heads', settings=(('keep', '0.5'),), of=''), 'distil:bert/tiny@bert')
    """
    what, at, of = text.strip().partition("@")
    method, *words = (word.strip() for word in what.split(":"))
    if not method or (at and not of.strip()) or not all(words):
        raise PlumeError(
            f"'{text}' names nothing to make small by: write METHOD, METHOD:STUDENT, METHOD:setting=value or METHOD@MODEL, such as "
            "distil:bert/tiny, heads:keep=0.5, int8@minilm."
        )
    settings = tuple(_setting(word) for word in words)
    if twice := next((name for name, _ in settings if [one for one, _ in settings].count(name) > 1), None):
        raise PlumeError(f"'{text}' says {twice} twice: once is enough.")
    return CompressEntry(method=method, settings=settings, of=of.strip())


def _setting(word: str) -> tuple[str, str]:
    """What is no setting is the student."""
    name, equals, value = word.partition("=")
    return (name.strip(), value.strip()) if equals and not word.startswith((".", "/", "~")) else (_STUDENT, word)


def absolute_entry(text: str, *, beside: str | Path = "") -> str:
    """With its paths whole; those that are not are relative to `beside`."""
    return _with_student(text, lambda name: naming.absolute(name, beside=beside))


def relative_entry(text: str, *, beside: Path) -> str:
    """As it is written in a file that lies in `beside`."""
    return _with_student(text, lambda name: naming.relative(name, beside=beside))


def _with_student(text: str, change: Callable[[str], str]) -> str:
    entry = read_entry(text)
    changed = tuple((name, change(value) if name == _STUDENT else value) for name, value in entry.settings)
    return _written(replace(entry, settings=changed))


def _written(entry: CompressEntry) -> str:
    words = [value if name == _STUDENT else f"{name}={value}" for name, value in entry.settings]
    return ":".join([entry.method, *words]) + (f"@{entry.of}" if entry.of else "")
