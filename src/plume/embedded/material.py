"""What a study is made of before it is written, and the small tools that make it the same on every machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from plume.core.files import write_text

Item = TypeVar("Item")
_SIGNS = re.compile(r"[\W_]+")


@dataclass(frozen=True, kw_only=True)
class TaskMaterial:
    """The text of a task's two files. `note` says in plain words how it came about."""

    name: str
    kind: str  # as `plume tune --task` calls it
    suffix: str
    train: str
    test: str
    note: str


@dataclass(frozen=True, kw_only=True)
class Material:
    """A corpus and the tasks to measure with."""

    corpus: str
    corpus_note: str
    tasks: tuple[TaskMaterial, ...]


def write_embedded(path: Path, documents: Iterable[str]) -> None:
    """A corpus file: a blank line after each document."""
    write_text(path, corpus_text(documents))


def corpus_text(documents: Iterable[str]) -> str:
    """Documents as a corpus file has them."""
    return "\n\n".join(documents) + "\n"


def conll(sentences: Iterable[Sequence[tuple[str, str]]]) -> str:
    """
    >>> conll([[("Oslo", "B-LOC"), (".", "O")]])
    'Oslo B-LOC\\n. O\\n\\n'
    """
    return "".join("".join(f"{word} {tag}\n" for word, tag in sentence) + "\n" for sentence in sentences)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows as a TSV file has them."""
    return "".join("\t".join(row) + "\n" for row in [header, *rows])


def text_key(text: str) -> str:
    """What two texts that say the same word by word have in common: signs, spaces and capitals do not count.

    >>> text_key("The n_jobs, if given.") == text_key("the n_jobs if given")
    True
    """
    return _SIGNS.sub("", text).lower()


def chance(name: str) -> float:
    """A number from 0 to 1 that has nothing to do with what the name means; the same everywhere.

    >>> round(chance("scipy.stats"), 4)
    0.0864
    """
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) / 2**64


def by_chance(items: Iterable[Item], name: Callable[[Item], str]) -> list[Item]:
    """In an order that only the names' hashes decide, so that a new text does not move the others."""
    return sorted(items, key=lambda item: (chance(name(item)), name(item)))
