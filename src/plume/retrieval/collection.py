"""A collection of passages: documents out of files, cut into passages of some words, each with its document's title."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from plume.core.errors import PlumeError
from plume.search.passages import cut_passages
from plume.search.settings import titled
from plume.search.sources import SourceColumns, SourceDocument, given_names, read_sources

TITLE = "title"  # the field of a document that is put before each of its passages


@dataclass(frozen=True, kw_only=True)
class DocumentPassage:
    """A stretch of a document, and the name under which it is found."""

    document: str
    number: int  # within the document
    title: str
    text: str

    @property
    def read(self) -> str:
        """What a model reads: the title stands before every passage (DPR §3.1)."""
        return titled(self.title, self.text)


@dataclass(frozen=True, kw_only=True)
class Passages:
    """All passages, in the order of the documents."""

    passages: list[DocumentPassage]
    files: tuple[str, ...] = ()  # none: they came with the questions

    def __len__(self) -> int:
        return len(self.passages)

    @cached_property
    def texts(self) -> list[str]:
        """As models read them."""
        return [one.read for one in self.passages]

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same passages, whatever their file is called."""
        made = hashlib.blake2b(digest_size=16)
        for one in self.passages:
            made.update(f"{one.document}\0{one.title}\0{one.text}\1".encode())
        return made.hexdigest()


def read_passages(files: Sequence[str | Path], *, words: int) -> Passages:
    """Documents of JSONL, CSV or TSV (id, title, text) or a text a line, cut into passages of at most so many words, between sentences."""
    found: list[DocumentPassage] = []
    known: dict[str, str] = {}
    for document in read_sources(files, SourceColumns(), given_names(files)):
        if document.id in known:
            raise PlumeError(
                f"{document.place}: the id '{document.id}' was given before, at {known[document.id]}. Each document needs its own."
            )
        known[document.id] = document.place
        found += _cut(document, words)
    return Passages(passages=found, files=tuple(str(Path(file).absolute()) for file in files))


def _cut(document: SourceDocument, words: int) -> Iterable[DocumentPassage]:
    title = str(document.metadata.get(TITLE) or "").strip()
    spans = cut_passages(document.text, words=words)
    if not spans:
        raise PlumeError(f"{document.place}: document '{document.id}' has no text. Write one, or remove the line.")
    for number, (begin, end) in enumerate(spans):
        yield DocumentPassage(document=document.id, number=number, title=title, text=document.text[begin:end])


def passages_of(texts: Iterable[str]) -> Passages:
    """The different ones of these texts, whole, where there are no documents but those that came with the questions."""
    different = dict.fromkeys(text for text in texts)
    made = [DocumentPassage(document=str(number), number=0, title="", text=text) for number, text in enumerate(different)]
    return Passages(passages=made)
