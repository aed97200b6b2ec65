"""Examples out of labelled tables, and out of what is to be predicted by a model that learnt from one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.data.documents import clean
from plume.readers.example import Example, Reading
from plume.readers.json_rows import read_objects
from plume.readers.row_languages import language_columns, languages_in, row_languages
from plume.readers.table_choice import AnswerKind
from plume.readers.table_layout import TableLayout
from plume.readers.table_own import own_layout
from plume.readers.table_rows import JSON_ADVICE, TableFormat, aligned_rows, table_rows

_Found = tuple[int, list[Any], Any, tuple[str, ...]]  # the line, the texts, the answer, the texts' languages if the row says them


def read_table(paths: Sequence[Path], layout: TableLayout, reading: Reading, *, answer: AnswerKind, labelled: bool) -> Iterator[Example]:
    """The rows of a file that is laid out as `layout` says; without `labelled`, plain lines and tables without the answer do as well.

    Several paths are one table, a file a column.
    """
    own = own_layout(paths, layout, labelled=labelled)
    reading.format = own.in_words(answer if labelled else None)
    rows = _json(paths[0], own) if own.format is TableFormat.JSONL else _table(paths, own, reading)
    for line, texts, value, languages in rows:
        place = f"{paths[0]}, line {line}"
        cleaned = tuple(_text(text, name, place) for text, name in zip(texts, own.texts, strict=True))
        if not all(cleaned):
            reading.skip("empty text", place)
            continue
        given = _answer(value, own, answer, place) if labelled else None
        reading.read += 1
        yield Example(texts=cleaned, answer=given, line=line, languages=languages)


def read_cells(path: Path, layout: TableLayout) -> Iterator[tuple[int, list[str]]]:
    """The texts of every row of a file that was found to be laid out so, empty ones too, with their lines; blank lines are no rows."""
    for line, texts, _, _ in _table([path], layout, Reading(file=path)):
        yield line, texts


def _table(paths: Sequence[Path], own: TableLayout, reading: Reading) -> Iterator[_Found]:
    texts = own.positions(own.texts)
    right = own.positions([own.answer])[0] if own.answer is not None else None
    header = bool(own.header)
    told = language_columns([name for name in own.header if name != own.answer], own.texts)
    place = {name: own.header.index(name) for name in told if name is not None}
    for line, cells in aligned_rows(paths) if own.format is TableFormat.ALIGNED else table_rows(paths[0], own.format):
        if not any(cell.strip() for cell in cells):
            reading.skip("blank line", f"{paths[0]}, line {line}")
        elif header:
            header = False
        elif len(cells) != own.columns and not (own.varies and len(cells) > own.columns):
            raise PlumeError(_wrong_width(f"{paths[0]}, line {line}", cells, own))
        else:
            said = languages_in({name: cells[i] for name, i in place.items()}, told) if place else ()
            yield line, [cells[i] for i in texts], None if right is None else cells[right], said


def _wrong_width(place: str, cells: Sequence[str], own: TableLayout) -> str:
    shown = " | ".join(cell if len(cell) <= 40 else cell[:39] + "…" for cell in cells[:8])
    if own.format is TableFormat.CSV:
        advice = "Put a text that has commas or line breaks between quotation marks, and write a quotation mark in it twice"
    else:
        advice = "Replace a tab within a text by a space; quotation marks mean nothing in TSV"
    names = f" ({', '.join(own.header)})" if own.header else ""
    return f"{place}: {len(cells)} columns where {own.columns}{names} are expected: {shown}. {advice}."


def _json(path: Path, own: TableLayout) -> Iterator[_Found]:
    needed = [*own.texts, *([own.answer] if own.answer is not None else [])]
    for line, record in read_objects(path, advice=JSON_ADVICE):
        for name in needed:
            if name not in record:
                raise PlumeError(
                    f"{path}, line {line}: no field '{name}'; there are {_names(record)}. Every line needs {', '.join(needed)}."
                )
        said = row_languages({name: value for name, value in record.items() if name != own.answer}, own.texts)
        yield line, [record[name] for name in own.texts], record[own.answer] if own.answer is not None else None, said


def _names(record: Mapping[str, Any]) -> str:
    return ", ".join(record) or "none"


def _text(value: Any, name: str, place: str) -> str:
    if isinstance(value, bool | list | dict):
        raise PlumeError(
            f"{place}: '{name}' holds {str(value)[:60]!r}, which is no text. Name another column: --text COLUMN (plume prompt: --column)."
        )
    return "" if value is None else clean(str(value)).strip()


def _answer(value: Any, own: TableLayout, answer: AnswerKind, place: str) -> str | tuple[str, ...] | float:
    match answer:
        case AnswerKind.SCORE:
            return _score(value, own, place)
        case AnswerKind.LABEL:
            return _label(value, own, place)
        case AnswerKind.LABELS:
            items = value if isinstance(value, list) else [] if value is None else _cut(value, own.separator)
            return tuple(dict.fromkeys(_label(item, own, place) for item in items))  # an empty cell: none of the labels


def _cut(value: Any, separator: str | None) -> list[Any]:
    parts = value.split(separator) if isinstance(value, str) and separator else [value]
    return [part for part in parts if not isinstance(part, str) or part.strip()]


def _label(value: Any, own: TableLayout, place: str) -> str:
    if isinstance(value, list | dict):
        raise PlumeError(
            f"{place}: the label '{own.answer}' holds {str(value)[:60]!r}; one label is expected. For several use the task multi-label."
        )
    label = "" if value is None else clean(str(value).lower() if isinstance(value, bool) else str(value)).strip()
    if not label:
        raise PlumeError(f"{place}: the label ('{own.answer}') is empty. Fill it in, or remove the row.")
    return label


def _score(value: Any, own: TableLayout, place: str) -> float:
    try:
        score = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise PlumeError(
            f"{place}: the score ('{own.answer}') is {str(value)[:60]!r}, which is no number. Mend it, or name another column: --label COLUMN."
        )
    return score
