"""Pairs whose two sides have names: fields of JSON objects, columns of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import suffix
from plume.readers.example import Reading
from plume.readers.json_rows import read_objects
from plume.readers.table_rows import TableFormat, table_rows

ADVICE = 'write one object a line, as {"source": "…", "target": "…"}'
Fields = tuple[str, str]  # source, target
# Names in public data sets; where a record has several pairs, the first one listed counts.
NAMES: tuple[Fields, ...] = (
    ("document", "summary"),
    ("article", "highlights"),
    ("article", "summary"),
    ("dialogue", "summary"),
    ("text", "summary"),
    ("source", "target"),
    ("src", "tgt"),
    ("input", "output"),
    ("question", "answer"),
)
# "id" (Indonesian) is not among them: as a field it is a number far more often.
_LANGUAGES = "ar bg cs da de el en es et fa fi fr he hi hr hu it ja ko lt lv ms nl no pl pt ro ru sk sl sr sv th tr uk vi zh"
_KEYS = ("id", "idx", "key")
_MARK = {TableFormat.TSV: "tab", TableFormat.CSV: "comma"}


@dataclass(frozen=True, kw_only=True)
class Pair:
    """As it stands in the file; `target` is None where there is none."""

    source: str
    target: str | None
    file: Path
    line: int
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a file of pairs: with or without answers, and by which names."""

    reading: Reading
    labelled: bool
    fields: Fields | None  # what the user calls source and target

    def found(self, form: str, source: str, target: str | None = None) -> None:
        """Says what was found, and once, as several files are most often alike."""
        words = f"{form}; source: {source}" + (f"; target: {target}" if target else "")
        if words not in self.reading.format:
            self.reading.format += f" and {words}" if self.reading.format else words


def from_json(path: Path, request: Request) -> Iterator[Pair]:
    """The pairs of a JSONL file whose fields name them."""
    chosen: tuple[str, str | None] | None = None
    for line, outer in read_objects(path, advice=ADVICE):
        where = f"{path}, line {line}"
        record = outer["translation"] if isinstance(outer.get("translation"), dict) else outer
        if chosen is None:
            chosen = _choose(list(record), request, where=where)
            request.found("JSON", *chosen)
        for name in chosen if request.labelled else chosen[:1]:
            if name not in record:
                found = f"keys found: {_listed(list(record))}"
                raise PlumeError(f"{where}: no '{name}', which the first record has; {found}. Add it, or remove this record.")
        source, target = (_text(record.get(name), name=name, where=where) if name else None for name in chosen)
        key = next((str(outer[name]) for name in _KEYS if isinstance(outer.get(name), str | int)), None)
        yield Pair(source=source or "", target=target, file=path, line=line, key=key)


def _choose(names: list[str], request: Request, *, where: str) -> tuple[str, str | None]:
    """The fields that hold source and target, out of the names in the first record."""
    if chosen := _named(names, request):
        return chosen
    others = [name for name in names if name not in _KEYS]
    if len(others) == 1 and not request.labelled and not request.fields:
        return others[0], None
    if request.fields:
        missing = f"no fields '{request.fields[0]}' and '{request.fields[1]}'" if request.labelled else f"no field '{request.fields[0]}'"
    else:
        missing = "no names that plume knows for source and target" if request.labelled else "no name that plume knows for the text"
    raise PlumeError(f"{where}: {missing}; keys found: {_listed(names)}. Name two of these, the source first, or {ADVICE}.")


def _named(names: Sequence[str], request: Request) -> tuple[str, str | None] | None:
    """Source and target as the user names them, or as data sets do; None: they are not among the names."""
    if request.fields:
        source, target = request.fields
        found = source in names and (target in names or not request.labelled)
        return (source, target if target in names else None) if found else None
    alone = next((name for name in names if name.lower() in dict(NAMES)), None)
    return _known(names) or ((alone, None) if alone and not request.labelled else None)


def _known(names: Sequence[str]) -> Fields | None:
    """A pair of names that data sets use, or two languages in their order.

    >>> _known(["id", "summary", "text"]), _known(["id", "zh", "en"])
    (('text', 'summary'), ('zh', 'en'))
    """
    spelled = {name.lower(): name for name in names}
    for source, target in NAMES:
        if source in spelled and target in spelled:
            return spelled[source], spelled[target]
    codes = [name for name in dict.fromkeys(names) if re.split("[-_]", name)[0] in _LANGUAGES.split()]
    return (codes[0], codes[1]) if len(codes) == 2 else None


def _text(value: Any, *, name: str, where: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int | float) and not isinstance(value, bool):  # an answer may be a number
        return str(value)
    raise PlumeError(f"{where}: '{name}' is a JSON {type(value).__name__}, not text. Write it as one string.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) or "none"


def from_table(path: Path, request: Request) -> Iterator[Pair]:
    """Without a header the first two columns; what follows is left out, as downloads put the authors there."""
    kind = TableFormat.CSV if suffix(path) == ".csv" else TableFormat.TSV
    columns: tuple[int, int | None] | None = None
    for line, row in table_rows(path, kind):
        cells = [cell.strip() for cell in row]
        if cells in ([], [""]):  # a blank line
            continue
        if columns is None:
            columns, header = _columns(cells, request, kind=kind, where=f"{path}, line {line}")
            if header:
                continue
        source, target = columns
        needed = max(source, target or 0) if request.labelled else source
        if len(cells) <= needed:
            found = f"{len(cells)} column{'s' if len(cells) > 1 else ''}, where the pair needs {needed + 1}"
            raise PlumeError(f"{path}, line {line}: {found}. Write source and target in one line, with a {_MARK[kind]} between them.")
        answer = cells[target] if target is not None and target < len(cells) else None
        yield Pair(source=cells[source], target=answer, file=path, line=line)


def _columns(cells: list[str], request: Request, *, kind: TableFormat, where: str) -> tuple[tuple[int, int | None], bool]:
    """Where source and target stand, and whether the row says so itself."""
    if named := _named(cells, request):
        request.found(f"{kind.upper()} with a header", *named)
        return (cells.index(named[0]), cells.index(named[1]) if named[1] else None), True
    if request.fields and request.labelled:
        raise PlumeError(f"{where}: the header has no columns '{request.fields[0]}' and '{request.fields[1]}'; found: {_listed(cells)}.")
    request.found(f"{kind.upper()} without a header", "column 1", "column 2" if len(cells) > 1 else None)
    return (0, 1), False
