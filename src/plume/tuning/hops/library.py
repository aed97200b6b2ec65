"""Documents by their titles, found by names that are nearly those; and the titles that a question names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from plume.core.errors import PlumeError
from plume.kb.names import flat, normalised, without_bracket, words_in
from plume.readers.json_rows import read_objects
from plume.readers.multihop import PageText, pages_of

_LIKE = 0.6  # of two names' words together, so many are in both (Jaccard): a hop resolves to that title
_LONGEST_NAME = 14  # words
_ADVICE = 'write one document a line, as {"title": "…", "text": "…"}'


class Library:
    """Pages by title. A name finds the title that is the same but for case, width and brackets, else the one that has most words in common."""

    def __init__(self, pages: Iterable[PageText]) -> None:
        self.pages: dict[str, PageText] = {}  # by normalised title; of two that are the same the first counts
        self.bare: dict[str, str] = {}  # a title without its bracket: the first that has it
        for page in pages:
            plain = normalised(page.title)
            if plain and plain not in self.pages:
                self.pages[plain] = page
                if (bare := without_bracket(plain)) is not None:
                    self.bare.setdefault(bare, plain)
        self._words: dict[str, list[str]] | None = None

    @property
    def first(self) -> PageText | None:
        """Where nothing else tells."""
        return next(iter(self.pages.values()), None)

    def exact(self, plain: str) -> PageText | None:
        """By a normalised name."""
        return self.pages.get(plain) or self.pages.get(self.bare.get(plain, ""))

    def find(self, name: str) -> PageText | None:
        """The page that a name means, if there is one."""
        plain = normalised(name)
        return self.exact(plain) or self._near(plain)

    def _near(self, plain: str) -> PageText | None:
        if self._words is None:
            self._words = defaultdict(list)
            for title in self.pages:
                for word in _words(title):
                    self._words[word].append(title)
        asked = _words(plain)
        rarest = min((self._words[word] for word in asked if word in self._words), key=len, default=[])
        best = max(rarest, key=lambda title: (_likeness(asked, _words(title)), -len(title)), default="")
        return self.pages[best] if best and _likeness(asked, _words(best)) >= _LIKE else None

    def named_in(self, question: str) -> list[PageText]:
        """The pages whose titles stand in a text, in its order; the longest at each place. A single common word is none."""
        plain = flat(question)
        words = words_in(plain)
        found: dict[str, PageText] = {}
        place = 0
        while place < len(words):
            step = 1
            for last in range(min(place + _LONGEST_NAME, len(words)), place, -1):
                begin, end = words[place][0], words[last - 1][1]
                page = self.exact(plain[begin:end])
                if page is not None and (last - place > 1 or question[begin:end] != question[begin:end].lower()):
                    found.setdefault(page.title, page)
                    step = last - place
                    break
            place += step
        return list(found.values())

    def nearest(self, question: str) -> PageText | None:
        """The page with most of a text's words, where it names none: those of its title count twice, rare ones more."""
        asked = _words(flat(question))
        texts = {title: _words(flat(page.text)) for title, page in self.pages.items()}
        having = {word: sum(word in text for text in texts.values()) for word in asked}

        def score(title: str) -> float:
            return sum((word in texts[title]) / (1 + having[word]) + (word in _words(title)) for word in asked)

        best = max(self.pages, key=score, default=None)
        return None if best is None else self.pages[best]


def _words(plain: str) -> frozenset[str]:
    return frozenset(plain[begin:end] for begin, end in words_in(plain) if plain[begin:end].isalnum())


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def read_library(files: Sequence[Path]) -> Library:
    """Documents of JSONL files."""
    pages: list[PageText] = []
    for file in files:
        if not file.is_file():
            wrong = " is a folder." if file.is_dir() else ": there is no such file."
            raise PlumeError(f"--documents {file}{wrong} Give JSONL: {_ADVICE}.")
        for line, record in read_objects(file, advice=_ADVICE):
            pages += pages_of([record], f"{file}, line {line}")
    if not pages:
        raise PlumeError(f"--documents {', '.join(map(str, files))}: no document with text in it; {_ADVICE}.")
    return Library(pages)
