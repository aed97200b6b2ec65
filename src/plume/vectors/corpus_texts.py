"""Texts to embed, out of files of any length: one a line, or a field of a JSONL file. As many vectors as lines, in their order."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from plume.core.errors import PlumeError, suggest
from plume.data.lines import read_lines
from plume.readers.json_rows import read_objects

STDIN = "-"
_JSON = (".jsonl", ".json", ".ndjson")


def stream_texts(files: Sequence[str], *, column: str | None = None) -> Iterator[str]:
    """Of all files, one after the other; "-" is the standard input. `column` is the field of JSONL files.

    An empty line is an empty text, so that vector n is that of line n.
    """
    for file in files:
        if file == STDIN:
            yield from (line.rstrip("\r\n") for line in sys.stdin)
        elif is_json(Path(file)):
            yield from _fields(Path(file), column or "text")
        elif column is not None:
            raise PlumeError(f"{file} is read as a text a line: --text names a field of JSONL files.")
        else:
            yield from (line.rstrip("\r") for _, line in read_lines(Path(file), longest=None))


def is_json(path: Path) -> bool:
    """By its name, whether or not it is compressed."""
    return path.with_name(path.name.removesuffix(".gz")).suffix.lower() in _JSON


def _fields(path: Path, column: str) -> Iterator[str]:
    for number, record in read_objects(path, advice='write {"text": …} a line'):
        if column not in record:
            raise PlumeError(f"{path}, line {number}: no field '{column}': {suggest(column, list(record))}. Name it with --text.")
        if not isinstance(record[column], str):
            raise PlumeError(f"{path}, line {number}: '{column}' holds {str(record[column])[:60]!r}, which is no text.")
        yield record[column]


def chunks(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """So many at a time."""
    reading = iter(texts)
    while some := list(islice(reading, size)):
        yield some
