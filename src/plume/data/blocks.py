"""Documents to be read while a model trains or answers, cut into blocks of tokens: what REALM retrieves (arXiv:2002.08909 §3.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.data.documents import clean, is_jsonl, read_documents, read_record
from plume.data.encoder import Encoder
from plume.data.layouts.stretches import sentence_pieces, walk
from plume.data.lines import read_lines
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words

_AT_ONCE = 2000  # documents
_ADVICE = 'write one object a line, as {"title": "…", "text": "…"}'
Numbers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TitledDocument:
    """A document that can be named: what it is about, and what it says. `place` is its file and line."""

    title: str
    paragraphs: list[str]
    place: str


@dataclass(frozen=True, kw_only=True)
class Ragged:
    """Rows of tokens of different lengths, one after another."""

    tokens: NDArray[np.int32]
    start: Numbers  # [n]
    end: Numbers  # [n]

    def __len__(self) -> int:
        return len(self.start)

    def rows(self, which: Numbers, *, fill: int = 0) -> tuple[Numbers, Numbers]:
        """[m, T] the rows of these numbers, and [m] their lengths; a number of -1 is an empty row."""
        there = which >= 0
        safe = np.where(there, which, 0)
        length = np.where(there, self.end[safe] - self.start[safe], 0) if len(self) else np.zeros(len(which), np.int64)
        place = np.arange(int(length.max(initial=0)))
        inside = place < length[:, None]
        found = np.full(inside.shape, fill, np.int64)
        found[inside] = self.tokens[(self.start[safe][:, None] + place)[inside]] if len(self) else 0
        return found, length


@dataclass(frozen=True, kw_only=True)
class TextBlocks:
    """All blocks of some documents: whole sentences, as many as fit; a longer sentence is cut."""

    bodies: Ragged
    document: Numbers  # [n] which document each block is of
    titles: Ragged  # [D]
    sentences: Ragged
    sentence_document: Numbers  # [S]
    fingerprint: str

    def __len__(self) -> int:
        return len(self.bodies)


def read_blocks(files: Sequence[str | Path], tokenizer: Tokenizer, *, words: Words, longest: int, title: int) -> TextBlocks:
    """Blocks of at most `longest` tokens, with titles of at most `title`. The files are JSONL with `text` and perhaps `title`, or plain text."""
    encoder = Encoder(tokenizer, words=words)
    digest = hashlib.blake2b(digest_size=16)
    tokens: list[NDArray[Any]] = []
    sentences: list[Numbers] = []
    documents: list[Numbers] = []
    titles: list[list[int]] = []
    read = _counted(files, digest)
    while some := list(islice(read, _AT_ONCE)):
        made = encoder.encode([one.paragraphs for one in some])
        tokens.append(made.tokens.astype(np.int32))
        sentences.append(made.sentence_length)
        length = np.zeros(len(some), np.int64)  # a document of nothing that the tokenizer knows has no sentence, and stays without a block
        length[made.document_text] = made.document_length
        documents.append(length)
        titles += [ids[:title] for ids in tokenizer.encode([one.title for one in some])]
    if not titles:
        raise PlumeError(f"{', '.join(map(str, files))}: there are no documents in it. {_ADVICE.capitalize()}, or plain text.")
    return _cut(np.concatenate(tokens), np.concatenate(sentences), np.concatenate(documents), titles, longest, digest.hexdigest())


def read_titled(files: Sequence[str | Path]) -> Iterator[TitledDocument]:
    """Documents one by one. A line of JSONL is one document, whatever blank lines its text has; plain text is parted by blank lines."""
    for file in map(Path, files):
        if not file.is_file():
            raise PlumeError(f"There is no file {file}: give documents as JSONL with a title and a text a line, or as plain text.")
        yield from _from_objects(file) if is_jsonl(file) else _from_text(file)


def _from_text(file: Path) -> Iterator[TitledDocument]:
    for document in read_documents([file]):
        yield TitledDocument(title="", paragraphs=document.paragraphs, place=f"{file}, line {document.line}")


def _from_objects(file: Path) -> Iterator[TitledDocument]:
    for number, line in read_lines(file, longest=None):
        if not line or line.isspace():
            continue
        place = f"{file}, line {number}"
        record = read_record(line, file=file, number=number, advice=_ADVICE)
        text, title = record.get("text"), record.get("title") or ""
        if not isinstance(text, str) or not text.strip():
            raise PlumeError(f"{place}: a document without text: {_ADVICE}, and leave out what says nothing.")
        if not isinstance(title, str):
            raise PlumeError(f"{place}: 'title' holds {str(title)[:60]!r}, which is no text.")
        yield TitledDocument(title=clean(title).strip(), paragraphs=[part for part in clean(text).split("\n") if part.strip()], place=place)


def _counted(files: Sequence[str | Path], digest: Any) -> Iterator[TitledDocument]:
    for one in read_titled(files):
        digest.update("\0".join([one.title, *one.paragraphs]).encode() + b"\1")
        yield one


def _cut(tokens: NDArray[np.int32], sentence: Numbers, document: Numbers, titles: list[list[int]], longest: int, name: str) -> TextBlocks:
    end = np.cumsum(sentence)
    owner = np.repeat(np.arange(len(document)), document)
    places: Any = SimpleNamespace(
        sentence_start=end - sentence, sentence_end=end, document_start=np.concatenate([[0], np.cumsum(document)])
    )
    begin, stop, first = sentence_pieces(places, longest=longest)
    following = np.minimum(np.searchsorted(stop, begin + longest, side="right"), np.repeat(first[1:], np.diff(first)))
    chosen = walk(following, first)
    which = np.searchsorted(first, chosen, side="right") - 1
    title_end = np.cumsum([len(ids) for ids in titles])
    return TextBlocks(
        bodies=Ragged(tokens=tokens, start=begin[chosen], end=stop[following[chosen] - 1]),
        document=which,
        titles=Ragged(tokens=_flat(titles), start=title_end - np.array([len(ids) for ids in titles]), end=title_end),
        sentences=Ragged(tokens=tokens, start=end - sentence, end=end),
        sentence_document=owner,
        fingerprint=name,
    )


def _flat(rows: Iterable[list[int]]) -> NDArray[np.int32]:
    return np.array([number for ids in rows for number in ids], np.int32)
