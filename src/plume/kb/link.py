"""Linking by names: the longest name at each place, with everything that it may mean."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from plume.core.errors import PlumeError
from plume.kb.names import flat, normalised, words_in
from plume.kb.store import Candidate, KnowledgeBase

_CLUSTER = re.compile(r"\s+|\S[\u0300-\u036f\u3099\u309a]*")
_LONGEST = 48  # words of a name that is looked for in a single text


@dataclass(frozen=True, kw_only=True)
class NamedPlace:
    """Where a text has a name, in characters, and what it may mean, the likeliest first."""

    start: int
    end: int
    candidates: tuple[Candidate, ...]

    @property
    def entity(self) -> int:
        """The likeliest."""
        return self.candidates[0].entity


@dataclass(frozen=True, kw_only=True)
class LinkOptions:
    """Which names count."""

    least: int = 2  # characters
    stop: Collection[str] = ()  # names that are passed over
    capitalised: bool = False  # only where the text writes a capital, or a script without them
    surest: float = 0.0  # prior that the likeliest meaning must have

    def __post_init__(self) -> None:
        if self.least < 1 or not 0 <= self.surest <= 1:
            raise PlumeError("A name has at least 1 character (--least), and a prior lies between 0 and 1 (--surest).")


class Naming(Protocol):
    """What a linker asks: a knowledge base, or the names that a model keeps of one."""

    @property
    def folder(self) -> Path:
        """Where they lie."""

    def names(self) -> Iterator[str]:
        """Every name, normalised, each once."""

    def candidates(self, name: str) -> list[Candidate]:
        """What a name may mean, the likeliest first."""


Names = TypeVar("Names", bound=Naming)


class Linker(Generic[Names]):
    """All names in memory: for text by the megabyte.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from plume.kb.building import build
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "t.tsv").write_text("红楼梦\\t作者\\t曹雪芹\\nNew York\\tin\\tNew York State\\n", encoding="utf-8")
    >>> linker = Linker(build([folder / "t.tsv"], folder / "kb"))
    >>> [(one.start, one.end, one.entity) for one in linker.mentions("《红楼梦》 is read in NEW YORK state, not Newer York.")]
    [(1, 4, 0), (17, 31, 3)]
    """

    def __init__(self, kb: Names, options: LinkOptions = LinkOptions()) -> None:
        self.kb, self.options = kb, options
        self._names: set[str] = set()
        self._first: set[str] = set()  # first words
        self._two: dict[str, int] = {}  # the first two as they stand, and words of the longest name that begins so
        self._known: dict[str, tuple[Candidate, ...]] = {}
        stop = {normalised(name) for name in options.stop}
        for name in kb.names():
            if len(name) >= options.least and name not in stop:
                self._add(name)
        if not self._names:
            raise PlumeError(f"{kb.folder} has no name of {options.least} characters or more to look for.")

    def mentions(self, text: str) -> list[NamedPlace]:
        """The longest name at each place, from the left, none over another."""
        found = []
        for start, end in self._places(text):
            candidates = self._meanings(text[start:end])
            if candidates and candidates[0].prior >= self.options.surest:
                found.append(NamedPlace(start=start, end=end, candidates=candidates))
        return found

    def _add(self, name: str) -> None:
        spans = words_in(name)
        if spans:
            self._names.add(name)
            self._first.add(name[spans[0][0] : spans[0][1]])
            if len(spans) > 1:
                two = name[spans[0][0] : spans[1][1]]
                self._two[two] = max(self._two.get(two, 2), len(spans))

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        plain, offsets = aligned(text)
        spans = words_in(plain)
        ends = [end for _, end in spans]
        first, two, names, capitals = self._first, self._two, self._names, self.options.capitalised
        count, free = len(spans), 0
        for number in [place for place, (start, end) in enumerate(spans) if plain[start:end] in first]:
            if number < free:
                continue
            start = spans[number][0]
            most = two.get(plain[start : ends[number + 1]], 1) if number + 1 < count else 1
            for length in range(min(most, count - number), 0, -1):
                end = ends[number + length - 1]
                if plain[start:end] in names:
                    place = (start, end) if offsets is None else (offsets[start], offsets[end])
                    if not capitals or not text[place[0]].islower():
                        yield place
                        free = number + length
                        break

    def _meanings(self, surface: str) -> tuple[Candidate, ...]:
        if surface not in self._known:
            self._known[surface] = tuple(self.kb.candidates(surface))
        return self._known[surface]


def aligned(text: str) -> tuple[str, Sequence[int] | None]:
    """The flat text with single spaces and composed characters, and where each of its characters begins in the text; None: in the same place."""
    plain = flat(text)
    if "  " not in plain and unicodedata.is_normalized("NFC", plain):
        return plain, None
    pieces: list[str] = []
    offsets: list[int] = []
    for one in _CLUSTER.finditer(text):
        piece = " " if one.group().isspace() else flat(unicodedata.normalize("NFC", one.group()))
        pieces.append(piece)
        offsets += [one.start()] * len(piece)
    return "".join(pieces), [*offsets, len(text)]


def all_named(kb: KnowledgeBase, text: str, *, least: int = 1) -> list[NamedPlace]:
    """Every stretch of a short text that is a name, over each other too; read from the disk, so that nothing is loaded before."""
    plain, offsets = aligned(text)
    spans = words_in(plain)
    places = {
        (start, spans[last][1])
        for number, (start, _) in enumerate(spans)
        for last in range(number, min(number + _LONGEST, len(spans)))
        if spans[last][1] - start >= least
    }
    there = kb.which_are_names({plain[start:end] for start, end in places})
    found = []
    for start, end in sorted(places):
        if plain[start:end] in there:
            first, last = (start, end) if offsets is None else (offsets[start], offsets[end])
            found.append(NamedPlace(start=first, end=last, candidates=tuple(kb.candidates(text[first:last]))))
    return found
