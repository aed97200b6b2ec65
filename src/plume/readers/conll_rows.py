"""The lines of CoNLL files as rows: columns by tabs or spaces, comments and CoNLL-U's numbers left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from plume.core.errors import PlumeError
from plume.data.lines import read_lines

_ID = re.compile(r"\d+([-.]\d+)?")
_COMMENT = re.compile(r"# (\S+ = |newdoc|newpar)")  # "# text = …"; where "#" may be a word, as in "# O", other lines are none
_CONLL_U = 10  # columns
_UPOS = 4


class Row(NamedTuple):
    """A word of a CoNLL file with its tag."""

    line: int
    word: str
    tag: str  # empty where none is asked for


@dataclass(frozen=True, kw_only=True)
class ConllColumns:
    """What the first row of a file says about all of them. Columns are counted from 1."""

    separator: str  # a tab, or ASCII spaces: others (U+3000, U+00A0) may be words themselves
    width: int
    word: int
    tag: int | None  # None: none is asked for

    @property
    def kind(self) -> str:
        """What stands between two columns, in words."""
        return "tabs" if self.separator == "\t" else "spaces"

    def __str__(self) -> str:
        words = "words only" if self.width == 1 else f"columns separated by {self.kind}, word in column {self.word} of {self.width}"
        return f"{words}, tag in column {self.tag}" if self.tag else words

    def split(self, line: str) -> list[str]:
        """The cells of a line."""
        if self.separator == "\t":
            return line.split("\t")
        cells = [cell for cell in line.split(" ") if cell]
        return ["", *cells] if line.startswith(" ") and len(cells) == self.width - 1 else cells

    def is_comment(self, line: str) -> bool:
        """Is the line about the data, and not data?"""
        if not line.startswith("#"):
            return False
        return self.word == 2 or (self.separator == "\t" and "\t" not in line) or _COMMENT.match(line) is not None


def read_rows(path: Path, columns: ConllColumns) -> Iterator[list[Row]]:
    """Sentence by sentence; a row with another number of columns than the first raises."""
    rows: list[Row] = []
    for number, line in lines_of(path):
        if not line:
            if rows:
                yield rows
            rows = []
            continue
        if columns.is_comment(line):
            continue
        cells = columns.split(line)
        if len(cells) != columns.width:
            raise PlumeError(
                f"{path}, line {number}: found {len(cells)} column{'s' * (len(cells) != 1)}, expected {columns.width}, as in the file's first row, "
                f"separated by {columns.kind}. Mend the line, or leave it out."
            )
        if columns.word == 2 and not cells[0].isdecimal():
            continue  # CoNLL-U: a token of several words (3-4), whose words follow, or one that is not written (8.1)
        rows.append(Row(number, cells[columns.word - 1], cells[columns.tag - 1] if columns.tag else ""))
        if columns.tag and not rows[-1].tag:
            raise PlumeError(f"{path}, line {number}: the tag, in column {columns.tag}, is empty. Mend the line, or leave it out.")
    if rows:
        yield rows


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """What is blank is empty, and so is the mark between documents of CoNLL-2003."""
    for number, line in read_lines(path, longest=None):
        yield number, "" if line.startswith("-DOCSTART-") else line.rstrip("\r\t ")


def find_columns(path: Path, *, labelled: bool, column: int) -> ConllColumns:
    """By the first row that is surely no comment. A file without rows counts as one of words."""
    hash_first: tuple[int, str] | None = None
    for number, line in lines_of(path):
        if line and not line.startswith("#"):
            return _columns_of(line, f"{path}, line {number}", labelled=labelled, column=column)
        if line and hash_first is None and not _COMMENT.match(line):
            hash_first = number, line
    if hash_first:
        return _columns_of(hash_first[1], f"{path}, line {hash_first[0]}", labelled=labelled, column=column)
    return ConllColumns(separator=" ", width=1, word=1, tag=None)


def _columns_of(line: str, place: str, *, labelled: bool, column: int) -> ConllColumns:
    separator = "\t" if "\t" in line else " "
    cells = [cell for cell in line.split(separator) if cell or separator == "\t"]
    width = len(cells)
    word = 2 if separator == "\t" and width == _CONLL_U and _ID.fullmatch(cells[0]) else 1
    if not labelled:
        return ConllColumns(separator=separator, width=width, word=word, tag=None)
    if width < 2:
        raise PlumeError(f"{place}: found one column ({line[:40]!r}), expected a word and its tag, separated by a tab or a space.")
    tag = _UPOS if word == 2 and column == -1 else column if column > 0 else width + 1 + column
    if column == 0 or not word < tag <= width:
        raise PlumeError(
            f"{place}: no tag in column {column}: there are {width}, and the word is in column {word}. Count from 1, or from -1 for the last."
        )
    return ConllColumns(separator=separator, width=width, word=word, tag=tag)
