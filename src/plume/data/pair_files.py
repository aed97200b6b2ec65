"""Pairs: a sentence and its translation, out of a table, a JSONL file, or two files with as many lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.documents import Document, clean, is_jsonl, read_record
from plume.data.encoder import LONGEST_TEXT
from plume.data.lines import read_lines

UNNAMED = ("source", "target")  # languages that no header, field or ending names
_ADVICE = 'write one object a line, as {"source": "…", "target": "…"}'
_CODE = re.compile(r"[a-z]{2,3}([_-][A-Za-z]{2,8})?")


@dataclass(frozen=True, kw_only=True)
class PairFile:
    """One file that holds both sides, or two with one side each."""

    files: tuple[Path, ...]
    languages: tuple[str, str] = UNNAMED


def are_pairs(paths: Sequence[Path]) -> bool:
    """Do the files look like pairs: a table, or two files that differ in a language's code alone?"""
    if all(path.name.removesuffix(".gz").endswith(".tsv") for path in paths):
        return True
    return len(paths) == 2 and paths[0].with_suffix("") == paths[1].with_suffix("") and all(_CODE.fullmatch(p.suffix[1:]) for p in paths)


def read_pairs(sources: Sequence[PairFile]) -> Iterator[Document]:
    """Every pair, in order; a line without two sides raises."""
    for source in sources:
        if len(source.files) == 2:
            yield from _from_two(source)
        elif is_jsonl(source.files[0]):
            yield from _from_jsonl(source.files[0])
        else:
            yield from _from_table(source.files[0])


def _from_table(file: Path) -> Iterator[Document]:
    """Columns after the second are left out: downloads put the authors there. A first line `en<TAB>de` names the languages."""
    languages = UNNAMED
    for number, line in read_lines(file, longest=None):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) < 2:
            raise PlumeError(
                f"{file}, line {number}: one column, where a pair has two: source, a tab, target. "
                "If this is running text, a recipe that trains on pairs cannot use it: choose another recipe, or give pairs."
            )
        if number == 1 and (named := _header(cells)):
            languages = named
            continue
        yield _pair(cells[0], cells[1], file=file, number=number, languages=languages)


def _header(cells: Sequence[str]) -> tuple[str, str] | None:
    first, second = cells[0], cells[1]
    if (first.lower(), second.lower()) == UNNAMED:
        return UNNAMED
    return (first, second) if first != second and _CODE.fullmatch(first) and _CODE.fullmatch(second) else None


def _from_jsonl(file: Path) -> Iterator[Document]:
    for number, line in read_lines(file, longest=None):
        if not line.strip():
            continue
        record = read_record(line, file=file, number=number, advice=_ADVICE)
        for name in UNNAMED:
            if not isinstance(record.get(name), str):
                keys = ", ".join(map(str, list(record)[:10])) or "none"
                raise PlumeError(f"{file}, line {number}: no '{name}' with text in it; keys found: {keys}. For pairs {_ADVICE}.")
        languages = tuple(str(record.get(f"{name}_language") or name) for name in UNNAMED)
        sides = [" ".join(clean(record[name]).split()) for name in UNNAMED]
        yield _pair(*sides, file=file, number=number, languages=(languages[0], languages[1]))


def _from_two(source: PairFile) -> Iterator[Document]:
    first, second = source.files
    pairs = itertools.zip_longest(read_lines(first, longest=None), read_lines(second, longest=None))
    for number, (left, right) in enumerate(pairs, 1):
        if left is None or right is None:
            short, long = (first, second) if left is None else (second, first)
            raise PlumeError(
                f"{first} and {second} do not align: {short.name} ends after line {number - 1}, and {long.name} goes on. "
                "Line n of one must translate line n of the other: restore the lines that are missing."
            )
        if left[1].strip() or right[1].strip():  # a line that is blank in both says nothing
            yield _pair(left[1].strip(), right[1].strip(), file=first, number=number, languages=source.languages)


def _pair(source: str, target: str, *, file: Path, number: int, languages: tuple[str, str]) -> Document:
    for name, side in zip(languages, (source, target), strict=True):
        if not side:
            raise PlumeError(f"{file}, line {number}: the {name} side is empty: the pairs do not align. Fill it in, or remove the line.")
        if len(side) > LONGEST_TEXT:
            raise PlumeError(
                f"{file}, line {number}: the {name} side has {len(side):,} characters; pairs are of sentences, of at most "
                f"{LONGEST_TEXT:,}. Is a line end or a tab lost?"
            )
    return Document(file=file, line=number, paragraphs=[source, target], languages=languages)
