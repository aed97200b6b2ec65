"""Texts to embed, out of files of any length: one a line, a field of a JSONL file, a column of a table. A vector a line, in their order."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from plume.core.errors import PlumeError, suggest
from plume.data.documents import suffix
from plume.data.lines import read_lines
from plume.readers.json_rows import read_objects
from plume.readers.table_layout import find_layout
from plume.readers.table_rows import sniff
from plume.readers.tables import read_cells

STDIN = "-"
_TEXT = "text"  # what it is called if nobody says anything else
_JSON, _TABLES = (".jsonl", ".json", ".ndjson"), (".tsv", ".csv")


def stream_texts(files: Sequence[str], *, column: str | None = None) -> Iterator[str]:
    """Of all files, one after the other; "-" is the standard input. `column` is the field of JSONL files, or the column of tables: TSV, CSV, and
    any file of which a column is asked for.

    An empty line is an empty text, so that vector n is that of line n; of a table that of row n, blank lines and the header not counted.
    """
    for file in files:
        if file == STDIN:
            yield from (line.rstrip("\r\n") for line in sys.stdin)
        elif is_json(Path(file)):
            yield from _fields(Path(file), column or _TEXT)
        elif column is not None or suffix(Path(file)).lower() in _TABLES:
            yield from _cells(Path(file), column)
        else:
            yield from (line.rstrip("\r") for _, line in read_lines(Path(file), longest=None))


def is_json(path: Path) -> bool:
    """By its name, whether or not it is compressed."""
    return suffix(path).lower() in _JSON


def _cells(path: Path, column: str | None) -> Iterator[str]:
    _, first = sniff(path)
    if column is None and first and _TEXT in first[0][1]:
        column = _TEXT
    layout = find_layout([path], texts=1, answer=None, text_columns=() if column is None else (column,))
    for _, (text,) in read_cells(path, layout):
        yield text.strip()


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
