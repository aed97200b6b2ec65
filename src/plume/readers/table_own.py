"""How one file is laid out that is to be read like the one that a layout was found in.

A file with labels must be laid out alike; its columns may stand in another order under the same names. A file to predict for may also
lack the answer, or the header, or be plain lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.documents import suffix
from plume.readers.table_layout import TableLayout, header_names
from plume.readers.table_rows import SAMPLE, Row, TableFormat, filled, first_line, is_json, table_rows, usual_width

_LINES = TableLayout(format=TableFormat.ALIGNED, columns=1, texts=("1",))
_TABBED = TableLayout(format=TableFormat.TSV, columns=2, texts=("1", "2"))


def own_layout(paths: Sequence[Path], layout: TableLayout, *, labelled: bool) -> TableLayout:
    """The layout of a file that may differ from the training file's: other columns, or none with the answer."""
    first = first_line(paths[0])
    if labelled and layout.answer is None:
        raise PlumeError("The layout says no answer: find it from a file with answers.")
    if len(paths) > 1 or (labelled and layout.format is TableFormat.ALIGNED):
        return _aligned(paths, layout, labelled=labelled)
    if layout.format is TableFormat.JSONL and (labelled or is_json(first)):
        return layout if labelled else replace(layout, answer=None)
    if labelled:
        return _labelled(paths[0], layout)
    return _unlabelled(paths[0], layout, is_json(first))


def _aligned(paths: Sequence[Path], layout: TableLayout, *, labelled: bool) -> TableLayout:
    if layout.format is TableFormat.ALIGNED and len(paths) == layout.columns:
        return layout if labelled else replace(layout, answer=None)
    if layout.format is TableFormat.ALIGNED and len(paths) == len(layout.texts) and not labelled:
        return _numbered(layout, [])
    wanted = layout.columns if layout.format is TableFormat.ALIGNED else 1
    raise PlumeError(
        f"{' and '.join(map(str, paths))}: {len(paths)} file{'s' * (len(paths) > 1)}, but the model learnt from {wanted} "
        f"({layout.in_words(None)}). Give as many, in the same order."
    )


def _numbered(layout: TableLayout, others: Sequence[int]) -> TableLayout:
    """Without a header and without the answer: what follows it moves up. `others`: the columns that are neither text nor answer."""
    kept = sorted([*layout.positions(layout.texts), *others])
    numbers = tuple(str(kept.index(place) + 1) for place in layout.positions(layout.texts))
    return replace(layout, header=(), columns=len(kept), texts=numbers, answer=None, separator=None)


def _by_header(path: Path, layout: TableLayout, needed: Sequence[str | None]) -> TableLayout | None:
    """As the file's own header says, be it TSV or CSV, where that has the names that are needed."""
    if not layout.header and layout.format is not TableFormat.JSONL:
        return None
    for kind in (TableFormat.TSV, TableFormat.CSV):
        names = header_names(next((cells for _, cells in _sample(path, kind, 1)), []))
        if all(name in names for name in needed):
            return replace(layout, format=kind, header=names, columns=len(names), answer=layout.answer if layout.answer in needed else None)
    return None


def _labelled(path: Path, layout: TableLayout) -> TableLayout:
    if not layout.header:
        return layout
    if found := _by_header(path, layout, [*layout.texts, layout.answer]):
        return found
    line, cells = next(filled(table_rows(path, layout.format)))
    missing = [str(name) for name in (*layout.texts, layout.answer) if name not in header_names(cells)]
    raise PlumeError(
        f"{path}, line {line}: the header lacks {', '.join(missing)}; the first row is {' | '.join(cell[:40] for cell in cells[:8])}. "
        f"The file must have the columns of the one that was learnt from: {', '.join(layout.header)}."
    )


def _unlabelled(path: Path, layout: TableLayout, json: bool) -> TableLayout:
    if json:
        if not layout.header:
            raise PlumeError(
                f"{path} is JSONL, but the model learnt from a table without names of columns: give plain lines, or such a table."
            )
        return TableLayout(format=TableFormat.JSONL, texts=layout.texts)
    if found := _by_header(path, layout, layout.texts):
        return found
    kind = TableFormat.CSV if layout.format is TableFormat.CSV else TableFormat.TSV
    rows = _sample(path, kind, SAMPLE)
    width, count = usual_width(rows) if rows else (1, 0)
    if layout.format in (TableFormat.TSV, TableFormat.CSV) and width > 1 and _is_table(kind, rows, count):
        texts = layout.positions(layout.texts)
        right = layout.positions([layout.answer] if layout.answer is not None else [])
        if width == layout.columns or (layout.varies and width > layout.columns):
            return replace(layout, header=(), texts=tuple(str(place + 1) for place in texts), answer=None, separator=None)
        if right and width == layout.columns - 1:
            others = [place for place in range(layout.columns) if place not in (*texts, *right)]
            return _numbered(replace(layout, varies=False), others)
    return _plain(path, layout, kind, rows)


def _sample(path: Path, kind: TableFormat, count: int) -> list[Row]:
    try:
        return list(islice(filled(table_rows(path, kind)), count))
    except PlumeError:
        if kind is TableFormat.TSV:
            raise
        return []  # plain lines may have a quotation mark without its fellow


def _is_table(kind: TableFormat, rows: Sequence[Row], count: int) -> bool:
    """Prose has commas too, but not the same number in each line, and a space follows them."""
    return kind is TableFormat.TSV or (10 * count >= 9 * len(rows) and not any(cell.startswith(" ") for _, row in rows for cell in row[1:]))


def _plain(path: Path, layout: TableLayout, kind: TableFormat, rows: Sequence[Row]) -> TableLayout:
    """One text a line, or two with a tab between."""
    if len(layout.texts) == 2:
        return _TABBED
    quoted = kind is TableFormat.CSV and rows and all(len(row) == 1 for _, row in rows) and first_line(path).startswith('"')
    if quoted:
        return TableLayout(format=TableFormat.CSV, columns=1, texts=("1",))
    width = usual_width(rows)[0] if rows else 1
    if width > 1 and (kind is TableFormat.TSV or suffix(path) == ".csv"):
        raise PlumeError(
            f"{path}: {width} columns in most rows, and no header that says which is the text. Give one text a line, or a table "
            f"as the model learnt from ({layout.in_words(None)}{f', {layout.columns} columns' if layout.columns else ''})."
        )
    return _LINES
