"""word2vec's text and binary files in and out, and GloVe's headerless text in. gensim opens ours, and we open gensim's."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from plume.core.errors import PlumeError
from plume.core.files import write_atomic
from plume.static.formats.text import Header, first_of_each, is_number, read_text
from plume.static.vectors import WordVectors

_LINES_AT_ONCE = 20_000
_BYTES_AT_ONCE = 1 << 24
_PACKED = 1032  # gzip makes nothing smaller than by this
_HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s*")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # never in text, almost always in the bytes of numbers
_UNWRITABLE = re.compile(r"[ \t\n\r\v\f\0]|\A\Z")


def read_word2vec(path: Path) -> WordVectors:
    """Text or binary, with word2vec's header or (GloVe) without: found by content. A .gz is unpacked on the way."""
    try:
        with _open(path) as file:
            return _read(path, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise PlumeError(f"{path}: cannot be unpacked ({error}). The file was cut short or damaged: fetch it again.") from None


def _read(path: Path, file: IO[bytes]) -> WordVectors:
    first = file.readline(1 << 20)
    header = _header(first)
    if header is None:
        return read_text(path, chain([first], file), None)
    if header.dimension == 0:
        raise PlumeError(f"{path}:1: the header promises vectors of no dimensions. Write the file again, or correct its first line.")
    sample = file.read(1 << 12)
    if _is_binary(sample):
        return _read_binary(path, sample, file, header, len(first))
    return read_text(path, _lines(sample, file), header)


def write_word2vec_text(path: Path, vectors: WordVectors) -> None:
    """With nine digits, from which every float32 comes back bit-equal."""
    _require_writable(path, vectors)
    line = "%s" + " %.9g" * vectors.dimension + "\n"

    def write(target: Path) -> None:
        with target.open("w", encoding="utf-8", newline="\n") as file:
            file.write(f"{len(vectors)} {vectors.dimension}\n")
            for first in range(0, len(vectors), _LINES_AT_ONCE):
                rows = vectors.matrix[first : first + _LINES_AT_ONCE].astype(np.float64).tolist()
                file.writelines(line % (word, *row) for word, row in zip(vectors.words[first:], rows, strict=False))

    write_atomic(path, write)


def write_word2vec_binary(path: Path, vectors: WordVectors) -> None:
    """Each row: the word, a space, the numbers as little-endian float32, a line feed, as word2vec.c writes them."""
    _require_writable(path, vectors)
    rows = np.ascontiguousarray(vectors.matrix, "<f4")

    def write(target: Path) -> None:
        with target.open("wb") as file:
            file.write(f"{len(vectors)} {vectors.dimension}\n".encode())
            for word, row in zip(vectors.words, rows, strict=True):
                file.write(b"%s %s\n" % (word.encode(), row.tobytes()))

    write_atomic(path, write)


def _require_writable(path: Path, vectors: WordVectors) -> None:
    bad = [word for word in vectors.words if _UNWRITABLE.search(word)]
    if bad:
        raise PlumeError(
            f"Cannot write {path}: word2vec's formats end a word at a space, and {len(bad):,} words are empty or hold one, a tab or a line feed "
            f"(first {bad[0]!r}). Replace them, for example by '_', or leave them out."
        )


def _open(path: Path) -> IO[bytes]:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]
    except OSError as error:
        raise PlumeError(f"Cannot read {path}: {error.strerror or error}.") from None


def _header(line: bytes) -> Header | None:
    found = _HEADER.fullmatch(line)
    return Header(int(found[1]), int(found[2])) if found else None


def _is_binary(sample: bytes) -> bool:
    """By bytes that no text has; in a file too short to have one, by the first row having no number in it."""
    if _CONTROL.search(sample):
        return True
    fields = sample.partition(b"\n")[0].split()[1:]
    return bool(sample.strip()) and not any(is_number(field) for field in fields)


def _lines(sample: bytes, file: IO[bytes]) -> Iterator[bytes]:
    *whole, last = sample.splitlines(keepends=True) or [b""]
    yield from whole
    if last := last + (b"" if last.endswith(b"\n") else file.readline()):
        yield last
    yield from file


def _read_binary(path: Path, buffer: bytes, file: IO[bytes], header: Header, offset: int) -> WordVectors:
    """`offset` is where `buffer` begins in the file, for what is said about damage."""
    size = header.dimension * 4
    words: list[bytes] = []
    possible = path.stat().st_size * _PACKED // size + 1  # a damaged header must not ask for all the memory there is
    matrix = np.empty((min(header.words, possible), header.dimension), np.float32)
    place = 0
    for row in range(header.words):
        end = buffer.find(b" ", place)
        if end < 0 or end + 1 + size > len(buffer):
            buffer, offset, place = buffer[place:] + file.read(max(_BYTES_AT_ONCE, size)), offset + place, 0
            end = buffer.find(b" ")
        if end < 0 or end + 1 + size > len(buffer):
            raise PlumeError(
                f"{path}: ends at byte {offset + len(buffer):,}, in word {row + 1:,} of the {header.words:,} its header promises. "
                "The file was cut short: fetch or write it again."
            )
        words.append(buffer[place:end].lstrip(b"\n"))  # word2vec.c ends rows with a line feed, gensim does not
        matrix[row] = np.frombuffer(buffer, "<f4", header.dimension, end + 1)
        place = end + 1 + size
    left = buffer[place:].strip() or file.read(1 << 10).strip()
    if left:
        raise PlumeError(
            f"{path}: goes on at byte {offset + place:,} after the {header.words:,} words of {header.dimension} numbers that its header promises. "
            "The header is wrong or the file damaged: fetch or write it again."
        )
    return first_of_each(words, matrix, path)
