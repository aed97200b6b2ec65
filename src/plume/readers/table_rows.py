"""The rows of a table file as they stand, before anybody asks what the columns mean."""

from __future__ import annotations

import contextlib
import csv
import enum
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.documents import suffix
from plume.data.lines import read_lines
from plume.readers.json_rows import read_objects

SAMPLE = 1000  # rows that are looked at to find out how a file is laid out
_LONGEST_FIELD = 1 << 24
_JSON = re.compile(r'\{\s*("|$)|\[\s*(\{|$)')  # an object, or a list of them
JSON_ADVICE = "a table has one object a line, with the same fields in each"

Row = tuple[int, list[str]]  # the line on which it begins, and its cells


class TableFormat(enum.StrEnum):
    """How a table lies in its file or files."""

    TSV = "tsv"  # quotation marks mean nothing in it: MRPC and others have single ones
    CSV = "csv"
    JSONL = "jsonl"
    ALIGNED = "aligned"  # one file a column


def tsv_rows(lines: Iterable[tuple[int, str]]) -> Iterator[Row]:
    """Lines cut at tabs."""
    for number, line in lines:
        yield number, line.removesuffix("\r").split("\t")


def csv_rows(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[Row]:
    """Lines as CSV has them, quotation marks and line breaks in cells included."""
    csv.field_size_limit(_LONGEST_FIELD)  # the module's own limit, 128 KB, is short for a text
    reader = csv.reader(line.removesuffix("\r") + "\n" for _, line in lines)
    while True:
        start = reader.line_num + 1
        try:
            yield start, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise PlumeError(
                f"{path}, line {start}: cannot be read as CSV ({error}). Is a quotation mark opened and never closed? Write one in a text twice."
            ) from None


def table_rows(path: Path, kind: TableFormat) -> Iterator[Row]:
    """The rows of a file, with the number of the line that each begins at."""
    lines = read_lines(path, longest=None)
    return csv_rows(lines, path) if kind is TableFormat.CSV else tsv_rows(lines)


def aligned_rows(paths: Sequence[Path]) -> Iterator[Row]:
    """One file a column. Files of different length belong to different data, so that is an error."""
    for number, cells in enumerate(zip_longest(*(_texts(path) for path in paths)), start=1):
        if None in cells:
            counts = "; ".join(f"{path}: {sum(1 for _ in _texts(path)):,} lines" for path in paths)
            raise PlumeError(
                f"Files that are read side by side must have as many lines as each other, but {counts}. "
                "Give the file of texts and the file of labels that belongs to it; parts of one table are to be joined into one file."
            )
        yield number, [cell or "" for cell in cells]


def _texts(path: Path) -> Iterator[str]:
    return (line.removesuffix("\r") for _, line in read_lines(path, longest=None))


def filled(rows: Iterable[Row]) -> Iterator[Row]:
    """Those that are not blank."""
    return (row for row in rows if any(cell.strip() for cell in row[1]))


def first_line(path: Path) -> str:
    """That is not blank."""
    for _, line in read_lines(path, longest=None):
        if line.strip():
            return line.strip()
    raise PlumeError(
        f"{path} is empty: give a table (TSV, CSV or JSONL) with a text and its answer a row; to predict for, one text a line will do."
    )


def is_json(line: str) -> bool:
    """Does the line look like a JSON object?"""
    return _JSON.match(line) is not None


def sniff(path: Path) -> tuple[TableFormat, list[Row]]:
    """TSV or CSV, whichever keeps the number of columns most constant, and the first rows of it. JSONL is known by its first character."""
    if is_json(first_line(path)):
        return TableFormat.JSONL, []
    samples = {TableFormat.TSV: list(islice(filled(table_rows(path, TableFormat.TSV)), SAMPLE))}
    with contextlib.suppress(PlumeError):  # the quotation marks of a TSV need not pair up
        samples[TableFormat.CSV] = list(islice(filled(table_rows(path, TableFormat.CSV)), SAMPLE))
    named = suffix(path).lower().removeprefix(".")
    share = {kind: constancy(rows) for kind, rows in samples.items()}
    # Of equals TSV; where nothing separates cells, what the file is called.
    kind = max(share, key=lambda kind: (share[kind], not any(share.values()) and kind == named))
    return kind, samples[kind]


def constancy(rows: Sequence[Row]) -> float:
    """The share of rows with the most usual number of columns; 0 where that is one, as nothing is separated then."""
    usual, count = usual_width(rows)
    return count / len(rows) if usual > 1 else 0.0


def usual_width(rows: Sequence[Row]) -> tuple[int, int]:
    """The most usual number of columns, and how many rows have it.

    >>> usual_width([(1, ["a", "b"]), (2, ["a", "b"]), (3, ["a"])])
    (2, 2)
    """
    return Counter(len(cells) for _, cells in rows).most_common(1)[0]


def json_sample(path: Path) -> list[dict[str, object]]:
    """The first objects of a file."""
    return [record for _, record in islice(read_objects(path, advice=JSON_ADVICE), SAMPLE)]
