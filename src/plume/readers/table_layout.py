"""How a labelled table is laid out: found from the file, or named by the user; saved with the model, so that every later file is read alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.core.part import Part
from plume.readers.row_languages import is_language
from plume.readers.table_choice import AnswerKind, answer_candidates, is_clear, split_labels, text_candidates
from plume.readers.table_columns import FEW, IDS, LABELS, SCORES, TEXTS, Column, is_number, rank, words_of
from plume.readers.table_rows import SAMPLE, Row, TableFormat, aligned_rows, filled, json_sample, sniff, table_rows, usual_width

_ODD_ROWS = 3
_ADVICE = "Name the columns, by name or by number from 1: --text COLUMN (plume prompt: --column; twice for a pair) and --label COLUMN."
_NAMES = (TEXTS, LABELS, SCORES, IDS)


@dataclass(frozen=True, kw_only=True)
class TableLayout(Part):
    """
    >>> layout = TableLayout(format=TableFormat.TSV, header=("sentence", "label"), columns=2, texts=("sentence",), answer="label")
    >>> layout.in_words(AnswerKind.LABEL)
    'TSV with a header; text: sentence; label: label'
    """

    format: TableFormat
    header: tuple[str, ...] = ()  # names of the columns; empty: none
    columns: int = 0  # of a row; 0 for JSONL
    varies: bool = False  # rows may be longer than that (STS-B's sources of some pairs)
    texts: tuple[str, ...]  # names, or numbers from 1 where there are none
    answer: str | None = None
    separator: str | None = None  # between several labels in a cell

    def in_words(self, answer: AnswerKind | None) -> str:
        """What was found, for a person to check."""
        if self.format is TableFormat.ALIGNED:
            kind = "plain lines" if self.columns == 1 else "one file a column"
        elif self.format is TableFormat.JSONL:
            kind = "JSONL"
        else:
            kind = f"{self.format.upper()} with{'' if self.header else 'out'} a header"
        number = "" if self.header or self.format is TableFormat.JSONL else "column "
        words = [kind, f"text{'s' * (len(self.texts) > 1)}: {number}{' and '.join(self.texts)}"]
        if self.answer is not None and answer is not None:
            separated = f", separated by {self.separator!r}" if answer is AnswerKind.LABELS and self.separator else ""
            words.append(f"{answer}: {number}{self.answer}{separated}")
        return "; ".join(words)

    def positions(self, names: Sequence[str]) -> list[int]:
        """Where columns of this layout stand, from 0."""
        return [self.header.index(name) if name in self.header else int(name) - 1 for name in names]


def find_layout(
    paths: Sequence[Path],
    *,
    texts: int | None,
    answer: AnswerKind | None,
    text_columns: Sequence[str] = (),
    answer_column: str | None = None,
) -> TableLayout:
    """The layout of a labelled file, or of several that are read side by side. `texts`: how many a row has, None: find out.

    `answer` None looks for texts only. `text_columns` and `answer_column` are the user's own words, a name or a number from 1.
    """
    if texts is not None and text_columns and len(text_columns) != texts:
        raise PlumeError(f"This task takes {texts} text{'s' * (texts > 1)} a row, but --text names {', '.join(text_columns)}.")
    named = [*text_columns, *([answer_column] if answer_column else [])]
    kind, header, rows, columns = _columns(paths, named)
    place = " and ".join(map(str, paths))
    chosen = [_named(name, columns, place) for name in text_columns]
    right: list[Column] = []
    if answer is not None:
        rest = [column for column in columns if column not in chosen]
        plain = [column for column in rest if not is_language(column.title)]  # which says something of the text, unless it is all there is
        found = answer_candidates(plain, answer) or answer_candidates(rest, answer)
        right = [_named(answer_column, columns, place)] if answer_column else found
        if len(right) != 1:
            raise PlumeError(f"{place}: {_unclear(f'column holds the {answer}', right, columns)}")
    if not text_columns:
        chosen = text_candidates([column for column in columns if column not in right and not is_language(column.title)], texts)
        if not is_clear(chosen, texts):
            wanted = {
                1: "column holds the text",
                2: "columns hold the two texts",
                None: "column holds the text, or which two a pair of texts",
            }[texts]
            raise PlumeError(f"{place}: {_unclear(wanted, chosen, columns)}")
    width, varies = _width(paths[0], kind, header, rows, [columns.index(column) for column in chosen + right])
    return TableLayout(
        format=kind,
        header=header,
        columns=width,
        varies=varies,
        texts=tuple(column.name for column in chosen),
        answer=right[0].name if right else None,
        separator=split_labels(right[0])[1] if answer is AnswerKind.LABELS else None,
    )


def _columns(paths: Sequence[Path], named: Sequence[str]) -> tuple[TableFormat, tuple[str, ...], list[Row], list[Column]]:
    """The format, the header, the first rows, and those rows column by column."""
    if len(paths) > 1:
        rows = list(islice(aligned_rows(paths), SAMPLE))
        if not rows:
            raise PlumeError(f"{paths[0]} is empty: give a file with a text a line.")
        return TableFormat.ALIGNED, (), rows, _cut(rows, len(paths), [str(i + 1) for i in range(len(paths))], [path.stem for path in paths])
    kind, rows = sniff(paths[0])
    if kind is TableFormat.JSONL:
        records = json_sample(paths[0])
        names = list(dict.fromkeys(name for record in records for name in record))
        return kind, (), [], [Column(name, name, [record.get(name) for record in records]) for name in names]
    width, _ = usual_width(rows)
    header: tuple[str, ...] = ()
    titles = [""] * width
    if _has_header(rows, named):
        titles, header = [title.strip() for title in rows[0][1]], header_names(rows[0][1])
        rows = rows[1:]
        if not rows:
            raise PlumeError(f"{paths[0]} has a header ({', '.join(header)}) and no rows.")
    return kind, header, rows, _cut(rows, len(titles), header or [str(i + 1) for i in range(width)], titles)


def header_names(cells: Sequence[str]) -> tuple[str, ...]:
    """A column without a name (the index that pandas writes), or with another's, goes by its number.

    >>> header_names(["", "text", "label"])
    ('1', 'text', 'label')
    """
    titles = [cell.strip() for cell in cells]
    return tuple(title if title and titles.count(title) == 1 else str(i) for i, title in enumerate(titles, 1))


def _cut(rows: Sequence[Row], width: int, names: Sequence[str], titles: Sequence[str]) -> list[Column]:
    cells: list[Sequence[Any]] = [[row[i] for _, row in rows if i < len(row)] for i in range(width)]
    return [Column(name, title, values) for name, title, values in zip(names, titles, cells, strict=True)]


def _has_header(rows: Sequence[Row], named: Sequence[str]) -> bool:
    """Whether the first row names the columns: in known words, or because it is unlike all others."""
    first, rest = [cell.strip() for cell in rows[0][1]], [row for _, row in rows[1:]]
    if any(name in first for name in named if not name.isdigit()):
        return True
    names = [cell for cell in first if cell]
    if len(set(names)) < len(names) or any(is_number(cell) or len(words_of(cell)) > 3 or len(cell) > 40 for cell in names):
        return False
    columns = [Counter(row[i].strip() for row in rest if i < len(row)) for i in range(len(first))]
    if any(cell and cell in column for cell, column in zip(first, columns, strict=True)):
        return False  # what comes again is no name
    ranks = [min((place / len(known) for known in _NAMES if (place := rank(cell, known)) is not None), default=None) for cell in names]
    known = [place for place in ranks if place is not None]
    # A single known word may be a class ("question"), which would come again in a file of some length.
    if len(known) >= 2 or (len(rest) >= FEW and any(place < 1 for place in known)):
        return True
    numeric = len(rest) > 1 and any(cell and all(is_number(value) for value in column) for cell, column in zip(first, columns, strict=True))
    # A column of few classes, each of which comes again, but not the one in the first row.
    classes = len(rest) >= 2 * FEW and any(min(column.values()) > 1 and 4 * len(column) <= len(rest) for column in columns if column)
    return numeric or classes


def _width(path: Path, kind: TableFormat, header: Sequence[str], rows: Sequence[Row], needed: Sequence[int]) -> tuple[int, bool]:
    """How many columns a row has, and whether some have more. All rows are counted: in STS-B the longer ones come last."""
    if kind in (TableFormat.JSONL, TableFormat.ALIGNED):
        return 0 if kind is TableFormat.JSONL else len(rows[0][1]), False
    if header or kind is TableFormat.CSV:
        return len(header) or usual_width(rows)[0], False
    widths = Counter(len(row) for _, row in filled(table_rows(path, kind)))
    usual = widths.most_common(1)[0][0]
    # One in a hundred is no slip of the hand. A tab too many in a text would be one.
    odd = widths.total() - widths[usual]  # a few are mistakes, and their lines are named when they are read
    varies = min(widths) > max(needed) and odd >= _ODD_ROWS and 100 * odd >= widths.total()
    return (min(widths) if varies else usual), varies


def _named(name: str, columns: Sequence[Column], place: str) -> Column:
    for column in columns:
        if name in (column.name, column.title):
            return column
    if name.isdigit() and 0 < int(name) <= len(columns):
        return columns[int(name) - 1]
    raise PlumeError(f"{place}: there is no column '{name}'. {_first_row(columns)}\n{_ADVICE}")


def _unclear(wanted: str, found: Sequence[Column], columns: Sequence[Column]) -> str:
    several = f"it may be {' or '.join(column.name for column in found)}" if len(found) > 1 else "none looks like it"
    if len(columns) == 1:
        advice = "If the labels are in a file of their own, give both files."
        return f"there is only one column, so no telling which {wanted}. {_first_row(columns)}\n{advice}"
    return f"cannot tell which {wanted}: {several}. {_first_row(columns)}\n{_ADVICE}"


def _first_row(columns: Sequence[Column]) -> str:
    cells = [
        (f"{i} ({column.title})" if column.title else str(i), column.cells[0] if column.cells else "")
        for i, column in enumerate(columns, 1)
    ]
    return "The first row by column:" + "".join(f"\n  {name}: {cell if len(cell) <= 80 else cell[:79] + '…'}" for name, cell in cells)
