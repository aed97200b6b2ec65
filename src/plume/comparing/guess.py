"""What a task is, by the look of its training file, where its name does not say so."""

from __future__ import annotations

import csv
import itertools
import math
import re
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.lines import read_lines

_SAMPLE = 200  # lines looked at
_SPAN_TAG = re.compile(r"O|[BIESML]-\S+")


def guess_kind(name: str, path: Path) -> str:
    """Files of questions, of tagged words, or tables with a label; for anything else the user has to say."""
    lines = [line.strip() for _, line in itertools.islice(read_lines(path, longest=None), _SAMPLE)]
    said = "\n".join(lines)[:100_000]
    if said.startswith("{") and '"paragraphs"' in said:
        return "qa"
    if tags := _tags(lines):
        return "ner" if all(_SPAN_TAG.fullmatch(tag) for tag in tags) and len(tags) > 1 else "pos"
    if not said.startswith(("{", "[")) and not any("\t" in line or "," in line for line in lines):
        raise PlumeError(
            f"'{name}' is none of plume's tasks, and {path} does not look like a table or tagged words. Say what it is: "
            f"--task {name}:classification={path.name},… (see 'plume tasks')."
        )
    return "regression" if _fractions(lines) else "classification"


def _fractions(lines: list[str]) -> bool:
    """Is the first or the last column, but for a header, all numbers, and some of them no whole ones? Whole ones may be names of classes."""
    tabs = any("\t" in line for line in lines)
    rows = csv.reader(lines[1:], delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL)
    try:
        columns = list(zip(*((row[0], row[-1]) for row in rows if row), strict=True))
    except csv.Error:
        return False
    return any(all(map(_is_number, column)) and not all(float(cell).is_integer() for cell in column) for column in columns)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _tags(lines: list[str]) -> set[str]:
    """The last columns, if these are words with tags: like numbers of columns, and blank lines between sentences."""
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    widths = {len(row) for row in rows if row[0] != "-DOCSTART-"}
    sentences = sum(1 for before, line in itertools.pairwise(lines) if before and not line)
    if len(widths) != 1 or widths == {1} or not sentences or any(line.startswith(("{", "[{")) for line in lines[:1]):
        return set()
    return {row[-1] for row in rows}
