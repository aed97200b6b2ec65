"""Documents to index, out of files: JSONL, CSV, TSV, plain text, or standard input; each with its place, for errors."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import clean, is_jsonl, read_record, suffix
from plume.data.lines import read_lines
from plume.readers.json_rows import read_objects
from plume.readers.table_layout import find_layout
from plume.readers.table_rows import SAMPLE, Row, filled, sniff, table_rows
from plume.search.schema import cell_types
from plume.search.where.tree import MetadataType

STDIN = "-"
_ADVICE = 'write one object a line, as {"id": "a1", "text": "…", "year": 2024}'
_IDS = ("id", "_id")


@dataclass(frozen=True, kw_only=True)
class SourceDocument:
    """`place` is the file and line that it comes from."""

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    place: str


@dataclass(frozen=True, kw_only=True)
class SourceColumns:
    """Which fields are what. Without `text` it is 'text'; without `id` it is 'id' or '_id', or else file and line."""

    text: tuple[str, ...] = ()
    id: str | None = None
    types: Mapping[str, MetadataType] = field(default_factory=dict)


def read_sources(files: Sequence[str | Path], columns: SourceColumns, names: Sequence[str]) -> Iterator[SourceDocument]:
    """Document by document, in constant memory. `names` are what documents without an id are called by, one a file, before the line."""
    for file, name in zip(files, names, strict=True):
        found = 0
        for document in _read(file, name, columns):
            found += 1
            yield document
        if not found:
            raise PlumeError(f"{_shown(file)} is empty: {_ADVICE}, or a text a line.")


def from_records(records: Iterable[str | Mapping[str, Any]], columns: SourceColumns) -> Iterator[SourceDocument]:
    """The same of texts or dicts in Python."""
    for number, record in enumerate(records):
        place = f"document {number}"
        if isinstance(record, str):
            yield SourceDocument(id=str(number), text=clean(record), place=place)
        else:
            yield _document(record, columns, place, str(number))


def given_names(files: Sequence[str | Path]) -> list[str]:
    """Files as they were given, so that those of one name in two folders differ, and the same command names the same documents again.

    >>> given_names(["./a/notes.txt", "b/notes.txt", "-"])
    ['a/notes.txt', 'b/notes.txt', 'stdin']
    """
    return ["stdin" if str(file) == STDIN else Path(file).as_posix() for file in files]


def distinct_names(files: Sequence[str | Path]) -> list[str]:
    """As indexes of version 1 have it: the file's name, with as much of its path as tells it from others that are given with it.

    >>> distinct_names(["a/notes.txt", "b/notes.txt", "b/more.txt"])
    ['a/notes.txt', 'b/notes.txt', 'more.txt']
    """
    paths = [Path("stdin") if str(file) == STDIN else Path(file).absolute() for file in files]

    def tail(path: Path) -> str:
        same = [other.parts for other in dict.fromkeys(paths) if other.name == path.name]
        wanted = (size for size in range(1, len(path.parts) + 1) if sum(other[-size:] == path.parts[-size:] for other in same) == 1)
        return Path(*path.parts[-next(wanted) :]).as_posix()

    return [tail(path) for path in paths]


def _read(file: str | Path, name: str, columns: SourceColumns) -> Iterator[SourceDocument]:
    if str(file) == STDIN:
        return _from_stdin(columns)
    path = Path(file)
    if path.is_dir():
        raise PlumeError(
            f"{path} is a folder: give the documents in it, or those that an index was made of, as JSONL, CSV, TSV or text files."
        )
    if not path.is_file():
        raise PlumeError(f"There is no file {path}: give JSONL, CSV, TSV or text files, or - for standard input.")
    if is_jsonl(path):
        return _from_objects(read_objects(path, advice=_ADVICE), name, str(path), columns)
    if suffix(path) in (".csv", ".tsv"):
        return _from_rows(path, name, columns)
    return _from_lines(read_lines(path, longest=None), name, str(path))


def _shown(file: str | Path) -> str:
    return "Standard input" if str(file) == STDIN else str(file)


def _from_stdin(columns: SourceColumns) -> Iterator[SourceDocument]:
    lines = ((number, line.rstrip("\n")) for number, line in enumerate(sys.stdin, 1) if line.strip())
    first = next(lines, None)
    if first is None:
        return iter(())
    again = chain([first], lines)
    if not first[1].lstrip().startswith("{"):
        return _from_lines(again, "stdin", "standard input")
    objects = ((number, read_record(line, file=Path("standard input"), number=number, advice=_ADVICE)) for number, line in again)
    return _from_objects(objects, "stdin", "standard input", columns)


def _from_objects(objects: Iterable[tuple[int, dict[str, Any]]], name: str, shown: str, columns: SourceColumns) -> Iterator[SourceDocument]:
    for line, record in objects:
        yield _document(record, columns, f"{shown}, line {line}", f"{name}:{line}")


def _from_rows(path: Path, name: str, columns: SourceColumns) -> Iterator[SourceDocument]:
    """A table; types of its columns are found from its first rows."""
    header, rows, columns = _table(path, columns)
    first = list(islice(rows, SAMPLE))
    plain = {*(columns.text or ("text",)), columns.id or "", *_IDS}  # as they are
    types = cell_types([dict(zip(header, cells, strict=False)) for _, cells in first]) | dict(columns.types)
    for line, cells in chain(first, rows):
        place = f"{path}, line {line}"
        if len(cells) != len(header):
            raise PlumeError(f"{place}: {len(cells)} columns where the header has {len(header)} ({', '.join(header)[:120]}).")
        named = dict(zip(header, cells, strict=True))
        record = {field: cell if field in plain else _cell(cell, types[field], field, place) for field, cell in named.items()}
        yield _document(record, columns, place, f"{name}:{line}")


def _table(path: Path, columns: SourceColumns) -> tuple[Sequence[str], Iterator[Row], SourceColumns]:
    """The names of the columns, the rows, and which columns are what. Where the first row does not name the text, it is found, as tasks find it;
    a table without a header has numbers for names."""
    if not path.stat().st_size:
        return (), iter(()), columns
    kind, _ = sniff(path)
    rows = filled(table_rows(path, kind))
    _, header = next(rows, (0, []))
    if set(columns.text or ("text",)) <= set(header) or len(header) < 2:
        return header, rows, columns
    layout = find_layout([path], texts=len(columns.text) or 1, answer=None, text_columns=columns.text)
    columns = replace(columns, text=layout.texts)
    if layout.header:
        return layout.header, rows, columns
    return [str(number) for number in range(1, len(header) + 1)], filled(table_rows(path, layout.format)), columns


def _cell(cell: str, kind: MetadataType, name: str, place: str) -> Any:
    if cell == "":
        return None
    try:
        if kind is MetadataType.INT:
            return int(cell)
        if kind is MetadataType.REAL:
            return float(cell)
    except ValueError:
        raise PlumeError(
            f"{place}: '{name}' holds {cell[:40]!r}, which is no number as in the rows before. Mend it, or say --types {name}=text."
        ) from None
    if kind is MetadataType.BOOL and cell.lower() not in ("true", "false"):
        raise PlumeError(f"{place}: '{name}' holds {cell[:40]!r}, which is neither true nor false. Mend it, or say --types {name}=text.")
    return cell.lower() == "true" if kind is MetadataType.BOOL else cell


def _from_lines(lines: Iterable[tuple[int, str]], name: str, shown: str) -> Iterator[SourceDocument]:
    """A text a line. (Longer documents belong into JSONL, or a file each.)"""
    for line, text in lines:
        if text.strip():
            yield SourceDocument(id=f"{name}:{line}", text=clean(text).strip(), place=f"{shown}, line {line}")


def _document(record: Mapping[str, Any], columns: SourceColumns, place: str, otherwise: str) -> SourceDocument:
    texts = columns.text or ("text",)
    for name in texts:
        if name not in record:
            known = ", ".join(map(str, record)) or "none"
            raise PlumeError(
                f"{place}: there is no field '{name}'; there are {known}. The text stands in 'text' (of an index: or in another, --text FIELD)."
            )
        if record[name] is not None and not isinstance(record[name], str):
            raise PlumeError(f"{place}: '{name}' holds {str(record[name])[:60]!r}, which is no text. Name another field: --text FIELD.")
    key = columns.id or next((name for name in _IDS if name in record), None)
    identity = otherwise if key is None else record.get(key)
    if identity is None or isinstance(identity, bool | float | list | dict) or str(identity) == "":
        raise PlumeError(f"{place}: '{key}' holds {str(identity)[:40]!r}, but every document needs an id: a text or a whole number.")
    metadata = {name: value for name, value in record.items() if name not in (*texts, key)}
    text = "\n".join(clean(record[name]) for name in texts if record[name])
    return SourceDocument(id=clean(str(identity)), text=text, metadata=metadata, place=place)
