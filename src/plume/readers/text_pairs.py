"""A text and the text to write for it: JSON, tables, two aligned files, LCSTS. Which of them a file is, is found in the file."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from plume.core.errors import PlumeError
from plume.data.documents import clean, is_jsonl, suffix
from plume.data.lines import read_lines
from plume.data.pair_files import are_pairs
from plume.readers.example import Example, Reading
from plume.readers.named_pairs import ADVICE, Fields, Pair, Request, from_json, from_table

_LOOK = 20  # lines that tell the format
_JSON = re.compile(r'{\s*"|\[\s*({|$)')
_DOC = re.compile(r"""<doc id=["']?([^"'>]+)["']?>""")


def read_text_pairs(paths: Sequence[Path], reading: Reading, *, labelled: bool, fields: Fields | None = None) -> Iterator[Example]:
    """One file (or several) with both sides, or two files whose lines align, the source first. Without `labelled`, sources alone will do.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.tsv"
    >>> _ = path.write_text("A dog.\\tEin Hund.\\n")
    >>> [(one.texts, one.answer) for one in read_text_pairs([path], Reading(file=path), labelled=True)]
    [(('A dog.',), 'Ein Hund.')]
    """
    for pair in _pairs(paths, Request(reading=reading, labelled=labelled, fields=fields)):
        source, target = (clean(side or "").strip() for side in (pair.source, pair.target))
        if source and (target or not labelled):
            reading.read += 1
            yield Example(texts=(source,), answer=target or None, key=pair.key, line=pair.line)
        else:
            reason = "empty target" if source else "empty source" if labelled else "empty text"
            reading.skip(reason, f"{pair.file.name}, line {pair.line}")


def _pairs(paths: Sequence[Path], request: Request) -> Iterator[Pair]:
    readers = [_reader_of(path) for path in paths]
    if len(paths) == 1 or _from_lines not in readers:
        for path, reader in zip(paths, readers, strict=True):
            yield from reader(path, request)
    elif len(paths) == 2:
        yield from _from_two(paths[0], paths[1], request)
    else:
        alone = paths[readers.index(_from_lines)]
        raise PlumeError(f"{len(paths)} files, and {alone} holds one side alone: give two files whose lines align, the source first.")


def _reader_of(path: Path) -> Callable[[Path, Request], Iterator[Pair]]:
    head = list(itertools.islice((line for _, line in read_lines(path, longest=None) if line.strip()), _LOOK))
    if not head:
        raise PlumeError(f"{path} holds no text. Give one pair a line: source, a tab, target; or {ADVICE}.")
    if is_jsonl(path) or _JSON.match(head[0].strip()):
        return from_json
    if _DOC.match(head[0].strip()):
        return _from_lcsts
    tabs = sum("\t" in line for line in head)  # most lines, not all: one that lacks its tab is to be named
    return from_table if suffix(path) in (".tsv", ".csv") or 2 * tabs > len(head) else _from_lines


def _from_lcsts(path: Path, request: Request) -> Iterator[Pair]:
    """LCSTS (arXiv:1506.05865): blocks from <doc id=…> to </doc>, which are no XML (neither quoted nor escaped)."""
    names = request.fields or ("short_text", "summary")
    request.found("LCSTS", *names)
    block: list[str] = []
    begin, key = 0, ""
    for number, line in read_lines(path, longest=None):
        if opened := _DOC.match(line.strip()):
            if block:
                raise PlumeError(f"{path}, line {begin}: this <doc> has no </doc> before the next one, in line {number}. Close it.")
            begin, key = number, opened[1]
        elif line.strip() and not block:
            raise PlumeError(f"{path}, line {number}: text between </doc> and the next <doc id=…>. Remove it.")
        if opened or block:
            block.append(line.strip())
        if block and line.rstrip().endswith("</doc>"):
            text = "\n".join(block)
            source, target = (re.search(rf"<{re.escape(name)}>(.*?)</{re.escape(name)}>", text, re.DOTALL) for name in names)
            if not source or (request.labelled and not target):
                raise PlumeError(
                    f"{path}, line {begin}: this <doc> has no <{names[1] if source else names[0]}>. Add it, or remove the <doc>."
                )
            yield Pair(source=source[1], target=target[1] if target else None, file=path, line=begin, key=key)
            block = []
    if block:
        raise PlumeError(f"{path}, line {begin}: this <doc> has no </doc>: the file is cut off. Close it, or fetch the file again.")


def _from_two(first: Path, second: Path, request: Request) -> Iterator[Pair]:
    request.found("two aligned files", first.name, second.name)
    shared, further, longer = 0, 0, first
    for left, right in itertools.zip_longest(read_lines(first, longest=None), read_lines(second, longest=None)):
        if left and right:
            shared = left[0]
            yield Pair(source=left[1], target=right[1], file=first, line=shared)
        elif (rest := left or right)[1].strip():  # blank lines at the end are no text
            further, longer = rest[0], first if left else second
    if further:
        counts = [f"{path} has {further if path == longer else shared:,} lines" for path in (first, second)]
        raise PlumeError(f"{counts[0]}, {counts[1]}: line n of one must belong to line n of the other. Restore the lines that are missing.")


def _from_lines(path: Path, request: Request) -> Iterator[Pair]:
    if request.labelled:
        raise PlumeError(_one_side(path))
    request.found("one text a line", "the line")
    for number, line in read_lines(path, longest=None):
        yield Pair(source=line, target=None, file=path, line=number)


def _one_side(path: Path) -> str:
    """Is it one of two aligned files, whose other one lies beside it?"""
    beside = sorted(other for other in path.parent.iterdir() if other != path and other.is_file() and are_pairs([path, other]))
    if beside:
        return f"{path} holds one side of the pairs. Give both, the source first: --train {path} --train {beside[0]}"
    return (
        f"{path} holds one text a line, and no answers. Give source and target in a line with a tab between them, or {ADVICE}, "
        f"or two files whose lines align, the source first: --train {path} --train TARGETS"
    )
