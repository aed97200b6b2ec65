"""The corpus: files of text as a stream of documents.

A document is a blank-line block of a text file (the whole file if it has no blank lines), one paragraph or sentence a line; or one line
of a JSONL file with a `text` field, whose lines are paragraphs. Each may be compressed by gzip. UTF-8, with or without a byte-order mark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.lines import BadBytes, check_start, read_lines
from plume.text.languages import count_words
from plume.text.sentences import split_sentences
from plume.text.tidy import without_surrogates

# The most characters one document may hold, two long novels: whatever is longer is cut, so that memory stays bounded.
LONGEST_DOCUMENT = 2_000_000
LONGEST_LINE = 4 << 20  # bytes; a longer line of plain text is cut at a space
LEAST_SENTENCES, LEAST_WORDS = 2, 20
TEXT = (".txt", ".text", ".md")
JSONL = (".jsonl", ".ndjson")
_FORMATS = "UTF-8 text (.txt, .text, .md) or JSONL with a 'text' field (.jsonl), each optionally .gz"


@dataclass(frozen=True, kw_only=True)
class Document:
    """`line` is where it begins in its file; paragraphs are stripped and not empty."""

    file: Path
    line: int
    paragraphs: list[str]


@dataclass(frozen=True, kw_only=True)
class Census:
    """Sizes of the text itself, without line ends; the fingerprint depends on the text only, not on how files hold it."""

    documents: int
    paragraphs: int
    characters: int
    bytes: int
    fingerprint: str


class Corpus:
    """One file, several, or a folder (searched through, hidden files left out, in order of name).

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "corpus.txt"
    >>> _ = path.write_text("One.\\nTwo.\\n\\n三。\\n", encoding="utf-8")
    >>> [document.paragraphs for document in Corpus(path).documents()]
    [['One.', 'Two.'], ['三。']]
    """

    def __init__(self, paths: str | Path | Sequence[str | Path]) -> None:
        given = [paths] if isinstance(paths, str | Path) else list(paths)
        if not given:
            raise PlumeError(f"No corpus given: name a file or folder of {_FORMATS}.")
        self.files = tuple(file for path in given for file in _files(Path(path)))
        for file in self.files:
            check_start(file)
        self._census: Census | None = None

    def documents(self) -> Iterator[Document]:
        """All documents that hold text, read as they are asked for. One over `LONGEST_DOCUMENT` characters is cut into several."""
        return (document for document in read_documents(self.files) if document.paragraphs)

    def census(self) -> Census:
        """Counted in one pass, and remembered."""
        if self._census is None:
            self._census = _take_census(self.documents())
        return self._census

    def require_trainable(self) -> None:
        """Raise unless there is enough text for pre-training to mean anything. Reads no further than it must."""
        sentences = words = 0
        for document in self.documents():
            for paragraph in document.paragraphs:
                sentences += len(split_sentences(paragraph))
                words += count_words(paragraph)
                if sentences >= LEAST_SENTENCES and words >= LEAST_WORDS:
                    return
        names = ", ".join(str(file) for file in self.files[:3]) + (" …" if len(self.files) > 3 else "")
        raise PlumeError(
            f"{names}: too little text: found {_count(sentences, 'sentence')} of {_count(words, 'word')}; pre-training needs at least "
            f"{LEAST_SENTENCES} sentences and {LEAST_WORDS} words (a Chinese character counts as one), and is of use from some 100,000 on."
        )


def read_documents(files: Sequence[Path], *, bad: Callable[[BadBytes], None] | None = None) -> Iterator[Document]:
    """Documents of the files, JSONL ones without text too. `bad` is told of undecodable bytes, which raise without it."""
    for file in files:
        yield from (_from_jsonl if is_jsonl(file) else _from_text)(file, bad)


def is_jsonl(file: Path) -> bool:
    """By its name; in a folder, `.json` files are passed over, as they seldom are corpora."""
    return Path(file.name.removesuffix(".gz")).suffix in (*JSONL, ".json")


def _from_text(file: Path, bad: Callable[[BadBytes], None] | None) -> Iterator[Document]:
    return _grouped(file, read_lines(file, longest=LONGEST_LINE, bad=bad))


def _from_jsonl(file: Path, bad: Callable[[BadBytes], None] | None) -> Iterator[Document]:
    for number, line in read_lines(file, longest=None, bad=bad):
        if not line or line.isspace():
            continue
        lines = [text for text in _text_of(line, file=file, number=number).split("\n") if text and not text.isspace()]
        if lines:
            yield from _grouped(file, ((number, text) for text in lines))
        else:
            yield Document(file=file, line=number, paragraphs=[])


def _grouped(file: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Document]:
    """Lines up to a blank one, or up to the bound, make a document."""
    paragraphs: list[str] = []
    begin = size = 0
    for number, line in lines:
        for part in _bounded(line.strip()):
            if paragraphs and (not part or size + len(part) > LONGEST_DOCUMENT):
                yield Document(file=file, line=begin, paragraphs=paragraphs)
                paragraphs, size = [], 0
            if part:
                begin = begin if paragraphs else number
                paragraphs.append(part)
                size += len(part)
    if paragraphs:
        yield Document(file=file, line=begin, paragraphs=paragraphs)


def _bounded(paragraph: str) -> list[str]:
    if len(paragraph) <= LONGEST_DOCUMENT:
        return [paragraph]
    return [paragraph[start : start + LONGEST_DOCUMENT] for start in range(0, len(paragraph), LONGEST_DOCUMENT)]


def _text_of(line: str, *, file: Path, number: int) -> str:
    advice = 'write one object a line, as {"text": "…"}'
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        if number == 1 and line.strip() in ("[", "{"):
            advice = f"this is one JSON value over many lines: jq -c '.[]' {file} > {file}l turns a list into lines"
        raise PlumeError(f"{file}, line {number}: not JSON ({error}); {advice}.") from None
    if not isinstance(record, dict):
        raise PlumeError(f"{file}, line {number}: a JSON {type(record).__name__}, not an object; {advice}.")
    text = record.get("text")
    if not isinstance(text, str):
        keys = ", ".join(map(str, list(record)[:10])) or "none"
        found = f"'text' is not a string but {type(text).__name__}" if "text" in record else "no 'text' field"
        raise PlumeError(f"{file}, line {number}: {found}; keys found: {keys}. Rename the field that holds the text to 'text'.")
    return _clean(text)


def _clean(text: str) -> str:
    """JSON can escape what UTF-8 cannot write: half a surrogate pair, and the zero character."""
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return without_surrogates(text)
    return text


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return _files_in(path)
    if not path.exists():
        raise PlumeError(f"{path} does not exist: a corpus is a file or folder of {_FORMATS}.")
    if not path.is_file():
        raise PlumeError(f"{path} is not a regular file. plume reads a corpus several times: save it to a file first.")
    return [path]


def _files_in(folder: Path) -> list[Path]:
    """Files by their endings; empty ones are left out, as they may be mere markers."""
    found = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
        and Path(file.name.removesuffix(".gz")).suffix in TEXT + JSONL
        and file.stat().st_size > 0
    ]
    if not found:
        held = ", ".join(sorted(item.name for item in folder.iterdir())[:10]) or "nothing"
        raise PlumeError(f"{folder} holds no corpus files: looked for {_FORMATS}; found {held}.")
    return found


def _take_census(documents: Iterator[Document]) -> Census:
    number = paragraphs = characters = size = 0
    digest = hashlib.blake2b(digest_size=16)
    for document in documents:
        number += 1
        paragraphs += len(document.paragraphs)
        characters += sum(map(len, document.paragraphs))
        data = "\n".join(document.paragraphs).encode()
        size += len(data) - len(document.paragraphs) + 1
        digest.update(data)
        digest.update(b"\0")  # no text holds it, so that documents cannot run together
    return Census(documents=number, paragraphs=paragraphs, characters=characters, bytes=size, fingerprint=digest.hexdigest())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
