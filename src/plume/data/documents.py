"""Documents out of text files and JSONL files.

A document is a blank-line block of a text file (the whole file if it has no blank lines), one paragraph or sentence a line; or one line
of a JSONL file with a `text` field, whose lines are paragraphs. Each may be compressed by gzip. UTF-8, with or without a byte-order mark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from plume.core.errors import PlumeError
from plume.data.layouts.carried import Carried, Spans
from plume.data.lines import BadBytes, read_lines
from plume.text.long_text import parts
from plume.text.tidy import without_surrogates

# The most characters one document may hold, two long novels: whatever is longer is cut, so that memory stays bounded.
LONGEST_DOCUMENT = 2_000_000
LONGEST_LINE = 4 << 20  # bytes; a longer line of plain text is cut at a space
TEXT = (".txt", ".text", ".md")
JSONL = (".jsonl", ".ndjson")
LABELS = ("label", "code")  # JSONL fields that may name what kind of text a document is


@dataclass(frozen=True, kw_only=True)
class Document:
    """`line` is where it begins in its file; paragraphs are stripped and not empty.

    Two sides of a pair are two paragraphs, with the language of each.
    """

    file: Path
    line: int
    paragraphs: list[str]
    label: str | None = None
    languages: tuple[str, str] | None = None
    lines: Sequence[int] = ()  # of each paragraph, where they are known
    named: dict[str, Spans] = field(default_factory=dict)  # the fields it carries, at places in its paragraphs joined by line breaks

    def line_of(self, paragraph: int) -> int:
        """Where a paragraph stands in the file."""
        return self.lines[paragraph] if self.lines else self.line


def read_documents(
    files: Sequence[Path], *, bad: Callable[[BadBytes], None] | None = None, carries: Sequence[Carried] = ()
) -> Iterator[Document]:
    """Documents of the files, JSONL ones without text too. `bad` is told of undecodable bytes, which raise without it.

    Of a JSONL line's further fields, those that are carried are read."""
    for file in files:
        yield from _from_jsonl(file, bad, carries) if is_jsonl(file) else _from_text(file, bad)


def suffix(file: Path) -> str:
    """The ending that says what a file holds: that before .gz."""
    return Path(file.name.removesuffix(".gz")).suffix


def is_jsonl(file: Path) -> bool:
    """By its name; in a folder, `.json` files are passed over, as they seldom are corpora."""
    return suffix(file) in (*JSONL, ".json")


def read_record(line: str, *, file: Path, number: int, advice: str) -> dict[str, Any]:
    """One line of a JSONL file."""
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        if number == 1 and line.strip() in ("[", "{"):
            advice = f"this is one JSON value over many lines: jq -c '.[]' {file} > {file}l turns a list into lines"
        raise PlumeError(f"{file}, line {number}: not JSON ({error}); {advice}.") from None
    if not isinstance(record, dict):
        raise PlumeError(f"{file}, line {number}: a JSON {type(record).__name__}, not an object; {advice}.")
    return record


def clean(text: str) -> str:
    """JSON can escape what UTF-8 cannot write: half a surrogate pair, and the zero character."""
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return without_surrogates(text)
    return text


def _from_text(file: Path, bad: Callable[[BadBytes], None] | None) -> Iterator[Document]:
    return _grouped(file, read_lines(file, longest=LONGEST_LINE, bad=bad))


def _from_jsonl(file: Path, bad: Callable[[BadBytes], None] | None, carries: Sequence[Carried]) -> Iterator[Document]:
    for number, line in read_lines(file, longest=None, bad=bad):
        if not line or line.isspace():
            continue
        record = read_record(line, file=file, number=number, advice='write one object a line, as {"text": "…"}')
        label = _label_of(record, file=file, number=number)
        text = _text_of(record, file=file, number=number)
        lines = [line for line in text.split("\n") if line and not line.isspace()]
        if lines:
            documents = _grouped(file, ((number, line) for line in lines), label=label)
            yield from _with_named(documents, text, _named_of(record, carries, file=file, number=number)) if carries else documents
        else:
            yield Document(file=file, line=number, paragraphs=[], label=label)


def _grouped(file: Path, lines: Iterable[tuple[int, str]], *, label: str | None = None) -> Iterator[Document]:
    """Lines up to a blank one, or up to the bound, make a document."""
    paragraphs: list[str] = []
    numbers: list[int] = []
    size = 0
    for number, line in lines:
        for part in _bounded(line.strip()):
            if paragraphs and (not part or size + len(part) > LONGEST_DOCUMENT):
                yield Document(file=file, line=numbers[0], paragraphs=paragraphs, label=label, lines=numbers)
                paragraphs, numbers, size = [], [], 0
            if part:
                paragraphs.append(part)
                numbers.append(number)
                size += len(part)
    if paragraphs:
        yield Document(file=file, line=numbers[0], paragraphs=paragraphs, label=label, lines=numbers)


def _with_named(documents: Iterable[Document], text: str, named: dict[str, Spans]) -> Iterator[Document]:
    """The documents that a text was cut into, each with its share of what is marked in the text."""
    place = 0
    for document in documents:
        starts = []
        for paragraph in document.paragraphs:
            place = text.index(paragraph, place)  # between paragraphs there is nothing but spaces
            starts.append(place)
            place += len(paragraph)
        yield replace(document, named={name: _within(spans, starts, document.paragraphs) for name, spans in named.items()})


def _within(spans: Spans, starts: list[int], paragraphs: list[str]) -> Spans:
    """The same spans at places in the paragraphs joined by line breaks; what lies outside of them is gone."""
    size = np.array([len(paragraph) for paragraph in paragraphs])
    before = np.cumsum(size + 1) - size - 1
    paragraph = np.maximum(np.searchsorted(starts, spans[:, :2], side="right") - 1, 0)
    place = before[paragraph] + np.clip(spans[:, :2] - np.array(starts)[paragraph], 0, size[paragraph])
    return np.column_stack([place, spans[:, 2]])[place[:, 0] < place[:, 1]]


def _named_of(record: dict[str, Any], carries: Sequence[Carried], *, file: Path, number: int) -> dict[str, Spans]:
    """Of each field that the line has; it may lack any."""
    try:
        return {one.name: one.spans(record[one.name], record["text"]) for one in carries if record.get(one.name) is not None}
    except PlumeError as error:
        raise PlumeError(f"{file}, line {number}: {error}") from None


def _bounded(paragraph: str) -> list[str]:
    if len(paragraph) <= LONGEST_DOCUMENT:
        return [paragraph]
    return [part for part in map(str.strip, parts(paragraph, longest=LONGEST_DOCUMENT)) if part]


def _text_of(record: dict[str, Any], *, file: Path, number: int) -> str:
    text = record.get("text")
    if not isinstance(text, str):
        if isinstance(record.get("source"), str) and isinstance(record.get("target"), str):
            raise PlumeError(
                f"{file}, line {number}: 'source' and 'target' but no 'text': these are pairs, and this recipe trains on text. "
                "Write the text of each document in a field 'text', or use a recipe that trains on pairs (transformer, xlm)."
            )
        keys = ", ".join(map(str, list(record)[:10])) or "none"
        found = f"'text' is not a string but {type(text).__name__}" if "text" in record else "no 'text' field"
        raise PlumeError(f"{file}, line {number}: {found}; keys found: {keys}. Rename the field that holds the text to 'text'.")
    return clean(text)


def _label_of(record: dict[str, Any], *, file: Path, number: int) -> str | None:
    """A word or a whole number; anything else is somebody else's label."""
    given = [record[name] for name in LABELS if isinstance(record.get(name), str | int) and not isinstance(record.get(name), bool)]
    names = list(dict.fromkeys(clean(str(label)).strip() for label in given))
    if len(names) > 1:
        raise PlumeError(
            f"{file}, line {number}: label '{names[0]}' but code '{names[1]}'; a document has one. Keep one of the two fields."
        )
    return names[0] or None if names else None
