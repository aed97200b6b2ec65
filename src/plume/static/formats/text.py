"""The text form of word vectors, read in large blocks: a word and its numbers a line, with word2vec's header or (GloVe) without."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.static.vectors import WordVectors

_LINES_AT_ONCE = 20_000  # read, checked and parsed together


class Header(NamedTuple):
    """The first line of word2vec's files."""

    words: int
    dimension: int


def read_text(path: Path, lines: Iterator[bytes], header: Header | None) -> WordVectors:
    """Words and vectors out of the lines."""
    words: list[bytes] = []
    blocks: list[NDArray[np.float32]] = []
    dimension = header.dimension if header else 0
    number = first = 2 if header else 1
    while block := list(islice(lines, _LINES_AT_ONCE)):
        if block[-1].strip() == b"":  # a last empty line, as editors leave
            block = block[: max((place + 1 for place, line in enumerate(block) if line.strip()), default=0)]
            if not block:
                continue
        dimension = dimension or _dimension(block, path)
        some, rows = _parse(block, dimension, path, number, spaces=header is None)
        words += some
        blocks.append(rows)
        number += len(block)
    if header and len(words) != header.words:
        raise PlumeError(
            f"{path}: the header promises {header.words:,} words, and there are {number - first:,} rows. "
            "The file was cut short or joined: fetch or write it again, or correct its first line."
        )
    if not blocks:
        raise PlumeError(f"{path} holds no word vectors.")
    return first_of_each(words, np.concatenate(blocks), path)


def _dimension(block: list[bytes], path: Path) -> int:
    """Without a header: what most of the first rows have, since words with spaces make a few rows look longer."""
    most, _ = Counter(line.rstrip().count(b" ") for line in block[:1000]).most_common(1)[0]
    if most == 0 or not all(is_number(field) for field in block[0].rstrip().rsplit(b" ", most)[1:]):
        raise PlumeError(
            f"{path}:1: not word vectors: neither word2vec's header (how many words, how many dimensions) nor a word and its numbers, "
            "separated by spaces, nor a fastText .bin."
        )
    return most


def _parse(block: list[bytes], dimension: int, path: Path, number: int, *, spaces: bool) -> tuple[list[bytes], NDArray[np.float32]]:
    """Words and numbers of the lines from `number` on. All numbers are parsed in one call; only a block with something odd is looked at by line."""
    cut = [line.rstrip().partition(b" ") for line in block]
    if all(rest.count(b" ") == dimension - 1 and word for word, _, rest in cut):
        flat = _numbers(b" ".join([rest for _, _, rest in cut]))
        if flat is not None and len(flat) == len(block) * dimension:
            return [word for word, _, _ in cut], flat.reshape(-1, dimension)
    pairs = [_row(line.rstrip(), dimension, f"{path}:{number + place}", spaces=spaces) for place, line in enumerate(block)]
    return [word for word, _ in pairs], np.array([row for _, row in pairs], np.float32)


def _numbers(text: bytes) -> NDArray[np.float32] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy only warns of what it cannot read
        try:
            return np.fromstring(text, np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def _row(line: bytes, dimension: int, where: str, *, spaces: bool) -> tuple[bytes, list[float]]:
    """One line, with what is wrong with it. GloVe's 840B file has words with spaces ('. . .'): there the last fields are the numbers."""
    word, *fields = line.rsplit(b" ", dimension) if spaces else line.split(b" ")
    fields = [field for field in fields if field]
    joined = spaces and any(b"." in piece and is_number(piece) for piece in word.split(b" ")[1:])
    if len(fields) != dimension or joined:
        raise PlumeError(
            f"{where}: {len(line.split()) - 1} numbers where the others have {dimension}. The row was cut short or runs into the next: "
            "fetch or write the file again, or take the line out."
        )
    for field in fields:
        if not is_number(field):
            raise PlumeError(f"{where}: '{field.decode(errors='replace')}' is not a number. Correct the line or take it out.")
    if not word.strip():
        raise PlumeError(f"{where}: a row without a word. Take the line out, or give it a word.")
    return word, [float(field) for field in fields]


def is_number(field: bytes) -> bool:
    """Does it read as a number?"""
    try:
        float(field)
    except ValueError:
        return False
    return True


def first_of_each(raw: list[bytes], matrix: NDArray[np.float32], path: Path) -> WordVectors:
    """Of words that occur twice the first row is kept, as gensim does."""
    words = [word.decode("utf-8", "replace") for word in raw]
    notes = []
    undecodable = sum(1 for word in words if "\ufffd" in word)
    if undecodable:
        notes.append(f"{path}: {undecodable:,} words are not UTF-8 and are shown with \ufffd.")
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        first.setdefault(word, row)
    if len(first) < len(words):
        twice = next(word for row, word in enumerate(words) if first[word] != row)
        notes.append(f"{path}: {len(words) - len(first):,} rows repeat a word (such as '{twice}'); the first row of each is kept.")
        matrix = matrix[np.fromiter(first.values(), np.int64)]
    return WordVectors(words=tuple(first), matrix=matrix, notes=tuple(notes))
